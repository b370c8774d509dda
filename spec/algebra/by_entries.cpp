// Signs that show entry by entry: the sum of f is not below the sum of g if no f[i] is below g[i];
// a sum of conditions in the cases that can be.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

bool is_sum(Engine& g, const Term& t) {
  const Mono& m = g.factors(t.mono);
  return m.size() == 1 && m[0].exponent.is_one() && g.is_op(m[0].atom, Op::sum);
}

}  // namespace

/// A sum of numbers times conditions, in each case that can be: [p] - [q], where q implies p.
bool Engine::nonnegative_in_each_case(Nf e) {
  constexpr size_t most_conditions = 3;
  const Poly& p = terms(e);
  std::vector<AtomId> conditions;
  for (const Term& t : p)
    for (const Factor& f : factors(t.mono)) {
      if (!f.exponent.is_one() || !is_indicator(f.atom)) return false;
      if (std::find(conditions.begin(), conditions.end(), f.atom) == conditions.end())
        conditions.push_back(f.atom);
    }
  if (conditions.empty() || conditions.size() > most_conditions) return false;
  for (uint32_t holds = 0; holds < 1u << conditions.size(); ++holds) {
    const auto is_on = [&](AtomId condition) {
      const auto at = std::find(conditions.begin(), conditions.end(), condition);
      return (holds >> (at - conditions.begin()) & 1) != 0;
    };
    Rational value = 0;
    for (const Term& t : p) {
      const Mono& m = factors(t.mono);
      if (std::all_of(m.begin(), m.end(), [&](const Factor& f) { return is_on(f.atom); }))
        value = value + t.coef;
    }
    if (value.sign() >= 0) continue;
    Nf together = one;
    for (AtomId each : conditions)
      together = mul(together, is_on(each) ? of_atom(each) : sub(one, of_atom(each)));
    if (together != zero && fault != Fault::any_case) return false;
  }
  return true;
}

/// A product of a value >= 0 and common factors >= 0, multiplied out.
bool Engine::nonnegative_product(Nf e) {
  if (is_single(e)) return false;
  const Content parts = content(e, true);
  if (parts.common.empty() || parts.coef.sign() < 0) return false;
  for (const Factor& f : parts.common)
    if (fault != Fault::common_factor && !nonnegative_atom(f.atom, f.exponent)) return false;
  return nonnegative(parts.body);
}

/// e > 0 (`strict`) or e >= 0, with its sums over the same indices as one sum.
bool Engine::bounded_by_entries(Nf e, bool strict) {
  constexpr size_t most_terms = 8;
  const Poly& p = terms(e);
  if (p.size() > most_terms) return false;
  std::optional<AtomId> first;
  for (const Term& t : p)
    if (!first && t.coef.sign() < 0 && is_sum(*this, t)) first = factors(t.mono)[0].atom;
  if (!first) return false;
  Nf rest = zero, together = zero;
  const VarSet& avoid = free_of(e);
  VarSet binders;
  open(atoms[*first].ref, atoms[*first].args, avoid, &binders);
  for (const Term& t : p) {
    if (is_sum(*this, t)) {
      const Atom& sum = atoms[factors(t.mono)[0].atom];
      VarSet own;
      const Nf body = open(sum.ref, sum.args, avoid, &own);
      if (own == binders) {
        together = add(together, scale(body, t.coef));
        continue;
      }
    }
    rest = add(rest, monomial(t.mono, t.coef));
  }
  return (strict ? positive(rest) : nonnegative(rest)) && nonnegative(together);
}

}  // namespace shardproof::algebra
