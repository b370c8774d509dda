// Sums over equalities: substitutes v := T for [v = T]; gathers.
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// T with  e = 0 <=> v = T, if v occurs once in e, alone and with a constant coefficient.
std::optional<Nf> Engine::solved_for(Nf e, VarId v) {
  Nf rest = zero;
  Rational slope = 0;
  for (const Term& t : terms(e)) {
    if (!contains(mono_vars[t.mono], v)) {
      rest = add(rest, monomial(t.mono, t.coef));
      continue;
    }
    const Mono& m = factors(t.mono);
    if (m.size() != 1 || atoms[m[0].atom].kind != AtomKind::var || !m[0].exponent.is_one())
      return std::nullopt;
    slope = t.coef;
  }
  if (slope.is_zero()) return std::nullopt;
  Nf solution = scale(rest, Rational(-1) / slope);
  if (!integer(solution)) return std::nullopt;
  return solution;
}

/// Sum_v [v = T] f(v) = [0 <= T < range] f(T). With `in_range`, only if the indicator is provably
/// 1.
std::optional<Nf> Engine::delta(const VarSet& bound, const Mono& m, Rational coef, bool in_range) {
  for (size_t i = 0; i < m.size(); ++i) {
    if (atoms[m[i].atom].kind != AtomKind::eq0 || !m[i].exponent.is_one()) continue;
    Nf e = atoms[m[i].atom].args[0];
    for (VarId v : bound) {
      if (!mentions(e, v)) continue;
      auto at = solved_for(e, v);
      if (!at) continue;
      Nf inside = one;
      if (fault != Fault::always_in_range) {
        Nf above = add(sub(*at, vars[v].range), one);
        if (in_range && !(at_least(*at, 0) && at_least(scale(above, -1), 0))) continue;
        if (!in_range) inside = mul(le0(scale(*at, -1)), le0(above));
      }
      Nf rest = substitute(fix(without(m, i), coef), {{v, *at}});
      return sum(set_minus(bound, {v}), mul(inside, rest));
    }
  }
  return std::nullopt;
}

/// [v = ids[b]] f(v) = [v = ids[b]] f(ids[b]) for a free variable v, if there is only one such
/// indicator.
std::optional<Nf> Engine::gather(const VarSet& bound, const Mono& m, Rational coef) {
  std::optional<std::pair<size_t, std::pair<VarId, Nf>>> found;
  for (size_t i = 0; i < m.size(); ++i) {
    if (atoms[m[i].atom].kind != AtomKind::eq0 || !m[i].exponent.is_one()) continue;
    Nf e = atoms[m[i].atom].args[0];
    for (VarId v : atom_vars[m[i].atom]) {
      if (contains(bound, v)) continue;
      auto at = solved_for(e, v);
      if (!at || !is_single(*at)) continue;
      const Mono& f = factors(terms(*at)[0].mono);
      if (f.size() != 1 || !derived(f[0].atom) || mentions(*at, v)) continue;
      if (found) return std::nullopt;
      found = {i, {v, *at}};
    }
  }
  if (!found) return std::nullopt;
  auto [i, image] = *found;
  Mono rest = without(m, i);
  Nf before = fix(rest, coef), after = substitute(before, {image});
  if (before == after) return std::nullopt;
  return sum(bound, mul(monomial(mono(m[i]), 1), after));
}

}  // namespace shardproof::algebra
