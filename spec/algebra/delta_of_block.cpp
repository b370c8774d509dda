// Sums over the indices of one block, or over those at one place of each block: v = m u + w for
// blocks of m indices, where m divides the range n of v.
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// m, if the atom is floor(v / m), the number of v's block.
std::optional<Nf> Engine::width_of_blocks(AtomId a, VarId v) {
  if (!is_op(a, Op::floor)) return std::nullopt;
  const Nf part = inner(a);
  if (!is_single(part) || !mentions(part, v)) return std::nullopt;
  const Nf width = mul(var(v), pow(part, -1));
  if (!free_of(width).empty() || !integer(width) || !positive(width)) return std::nullopt;
  const bool even = integer(mul(vars[v].range, pow(width, -1))) || fault == Fault::uneven_blocks;
  return even ? std::optional(width) : std::nullopt;
}

/// The e with  equation = 0 <=> read = e, if e is an integer without v.
std::optional<Nf> Engine::value_of_read(Nf equation, Nf read, VarId v) {
  for (const Term& t : terms(equation))
    for (const Term& own : terms(read)) {
      if (own.mono != t.mono) continue;
      const Nf value = sub(read, scale(equation, own.coef / t.coef));
      if (!mentions(value, v) && integer(value)) return value;
    }
  return std::nullopt;
}

/// Sum_v [floor(v / m) = e] f(v) = [0 <= e < n / m] Sum_w f(m e + w), and
/// Sum_v [v mod m = e] f(v) = [0 <= e < m] Sum_u f(m u + e).
std::optional<Nf> Engine::delta_of_block(const VarSet& bound, const Mono& m, Rational coef) {
  for (size_t i = 0; floors && i < m.size(); ++i) {
    if (atoms[m[i].atom].kind != AtomKind::eq0 || !m[i].exponent.is_one()) continue;
    const Nf equation = atoms[m[i].atom].args[0];
    for (const Term& t : terms(equation))
      for (const Factor& f : factors(t.mono))
        for (VarId v : bound) {
          const auto width = width_of_blocks(f.atom, v);
          if (!width) continue;
          const Nf block = of_atom(f.atom), blocks = mul(vars[v].range, pow(*width, -1));
          for (const bool given_block : {true, false}) {
            const Nf read = given_block ? block : sub(var(v), mul(*width, block));
            const auto value = value_of_read(equation, read, v);
            if (!value) continue;
            const Nf count = given_block ? blocks : *width, others = given_block ? *width : blocks;
            const VarId w = scratch(others, set_union(bound, mono_vars[mono(m)]));
            const Nf at =
                given_block ? add(mul(*width, *value), var(w)) : add(mul(*width, var(w)), *value);
            const Nf inside = mul(le0(scale(*value, -1)), le0(add(sub(*value, count), one)));
            const Nf rest = substitute(fix(without(m, i), coef), {{v, at}});
            VarSet left = set_minus(bound, {v});
            left.push_back(w);
            return sum(left, mul(inside, rest));
          }
        }
  }
  return std::nullopt;
}

}  // namespace shardproof::algebra
