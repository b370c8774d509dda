// Bound maxima: what does not vary leaves, nested maxima flatten, digits merge as in sums.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

Nf Engine::max(VarSet bound, Nf body) {
  std::sort(bound.begin(), bound.end());
  VarSet used;
  for (VarId v : bound)
    if (mentions(body, v)) used.push_back(v);
  bound = used;
  if (bound.empty()) return body;
  tick(4);
  Nf fixed = zero, moving = zero;  // max_v (a(v) + b) = b + max_v a(v)
  for (const Term& t : Poly(terms(body))) {
    Nf term = monomial(t.mono, t.coef);
    bool infinite = false;  // -inf is no real summand: it stays beside the mask that guards it
    for (const Factor& f : factors(t.mono)) infinite = infinite || f.atom == minus_infinity();
    if (infinite || mentions_any(mono_vars[t.mono], bound))
      moving = add(moving, term);
    else
      fixed = add(fixed, term);
  }
  Content c = content(moving, fault == Fault::max_factor);  // only positive factors leave
  Mono outside, inside;
  for (const Factor& f : c.common)
    (mentions_any(atom_vars[f.atom], bound) ? inside : outside).push_back(f);
  Nf rest = mul(c.body, fix(inside, 1)), factor = fix(outside, c.coef);
  if (is_single(rest) && terms(rest)[0].coef.is_one()) {
    const Mono m = factors(terms(rest)[0].mono);
    if (m.size() == 1 && m[0].exponent.is_one() && is_op(m[0].atom, Op::max)) {
      VarSet binders;
      VarSet avoid = set_union(free_of(rest), bound);
      Nf opened =
          open(atoms[m[0].atom].ref, std::vector<Nf>(atoms[m[0].atom].args), avoid, &binders);
      bound.insert(bound.end(), binders.begin(), binders.end());
      return add(fixed, mul(factor, max(bound, opened)));
    }
  }
  if (merge_digits(bound, rest)) return add(fixed, mul(factor, max(bound, rest)));
  return add(fixed, mul(factor, lift(Op::max, bound, rest)));
}

}  // namespace shardproof::algebra
