// Sum_v [v <= T] = T + 1 and Sum_v [T <= v] = n - T: the number of indices on one side of T; or
// between two bounds. The sum of the indices, and that of their squares.
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// The sum over v of one comparison of v; none if the count may be outside 0 .. range.
std::optional<Nf> Engine::count(VarId v, AtomId a) {
  if (atoms[a].kind != AtomKind::le0) return std::nullopt;
  const Nf e = atoms[a].args[0], n = vars[v].range, i = var(v);
  const bool below = !mentions(sub(e, i), v), above = !mentions(add(e, i), v);
  if (!below && !above) return std::nullopt;
  const Nf number = below ? add(sub(i, e), one) : sub(n, add(e, i));
  if (!integer(number)) return std::nullopt;
  const auto never_below_0 = [&](Nf m) { return at_least(m, 0) || positive(add(m, one)); };
  const bool inside = never_below_0(number) && never_below_0(sub(n, number));
  return inside || fault == Fault::count_range ? std::optional<Nf>(iota(number)) : std::nullopt;
}

/// Sum_v [S <= v] [v <= T] = [S <= T] (T - S + 1) for 0 <= S and T < n, times the rest of the
/// factors; the same for two bounds of one side, of which the narrower counts. None if something
/// else depends on v.
std::optional<Nf> Engine::count_between(const VarSet& bound, VarId v, const Mono& m) {
  std::vector<Nf> first, last;
  Mono rest;
  const Nf i = var(v), n = vars[v].range;
  for (const Factor& f : m) {
    if (!contains(atom_vars[f.atom], v)) {
      rest.push_back(f);
      continue;
    }
    if (atoms[f.atom].kind != AtomKind::le0 || !f.exponent.is_one()) return std::nullopt;
    const Nf e = atoms[f.atom].args[0], above = add(e, i), below = sub(i, e);
    const bool from = !mentions(above, v);
    if (!from && mentions(below, v)) return std::nullopt;
    (from ? first : last).push_back(from ? above : below);
  }
  if (first.size() + last.size() != 2) return std::nullopt;
  const bool any = fault == Fault::count_range;
  const auto inside = [&](Nf count) {
    return integer(count) && (any || (at_least(count, 0) && at_least(sub(n, count), 0)));
  };
  for (Nf each : first)
    if (!inside(each)) return std::nullopt;
  for (Nf each : last)
    if (!inside(add(each, one))) return std::nullopt;
  Nf counted;
  if (first.size() == 1) {
    const Nf number = add(sub(iota(last[0]), iota(first[0])), one);
    counted = mul(le0(sub(first[0], last[0])), number);
  } else {
    const bool low = last.empty();
    const Nf a = low ? first[0] : last[0], b = low ? first[1] : last[1], up = le0(sub(a, b));
    const auto count = [&](Nf to) { return low ? sub(n, iota(to)) : add(iota(to), one); };
    counted = add(mul(up, count(low ? b : a)), mul(sub(one, up), count(low ? a : b)));
  }
  return sum(set_minus(bound, {v}), mul(fix(rest, 1), counted));
}

/// Sum_v v = n (n - 1) / 2, and Sum_v v^2 = n (n - 1) (2 n - 1) / 6.
std::optional<Nf> Engine::sum_of_indices(VarId v, const Factor& f) {
  if (!is_op(f.atom, Op::iota) || atoms[f.atom].args[0] != var(v)) return std::nullopt;
  const Nf n = vars[v].range, pairs = mul(n, sub(n, one));
  if (f.exponent.is_one()) return scale(pairs, Rational(1, 2));
  if (f.exponent != Rational(2)) return std::nullopt;
  return scale(mul(pairs, sub(scale(n, 2), one)), Rational(1, 6));
}

}  // namespace shardproof::algebra
