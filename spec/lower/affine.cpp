#include "spec/lower/affine.h"

#include <algorithm>

namespace shardproof::lower {

namespace {

using algebra::Algebra;
using algebra::AtomId;
using algebra::Engine;
using algebra::Factor;
using algebra::Fault;
using algebra::Mono;
using algebra::Op;
using algebra::Poly;
using algebra::Rational;
using algebra::Term;

Mono without_atom(const Mono& m, AtomId atom) {
  Mono rest = m;
  std::erase_if(rest, [&](const Factor& f) { return f.atom == atom; });
  return rest;
}

/// factor * base, for a base that divides terms of the factor.
Nf times_base(Engine& g, Nf factor, AtomId divisor) {
  const Nf base = g.base_of(divisor);
  Nf product = g.zero;
  for (const Term& t : g.terms(factor)) {
    const Mono& m = g.factors(t.mono);
    const bool divided = std::any_of(m.begin(), m.end(), [&](const Factor& f) {
      return f.atom == divisor && f.exponent == Rational(-1);
    });
    product = g.add(product, divided ? g.fix(without_atom(m, divisor), t.coef)
                                     : g.mul(base, g.monomial(t.mono, t.coef)));
  }
  return product;
}

/// n / (n + 1), and other quotients of a term and what it is one step later.
std::optional<Weights> by_quotient(Algebra& a, Nf factor, const Steps& steps) {
  Engine& g = a.engine();
  const auto at = [&](Nf e, Nf step) { return a.substitute(e, {{steps.n, step}}); };
  for (const Term& t : g.terms(factor))
    for (const Factor& f : g.factors(t.mono)) {
      if (f.exponent != Rational(-1)) continue;
      const Nf after = g.base_of(f.atom), here = times_base(g, factor, f.atom);
      const bool positive = a.known_positive(after) || g.at_least(g.strip_iota(after), 1) ||
                            g.fault == Fault::weight_zero;
      if (at(here, steps.next) != after || !positive) continue;
      return Weights{at(here, steps.first), here, after, at(after, steps.last)};
    }
  return std::nullopt;
}

/// Powers of a factor > 0.
std::optional<Weights> by_logarithm(Algebra& a, Nf factor, const Steps& steps) {
  const bool any_sign = a.engine().fault == Fault::weight_sign;
  if (!a.known_positive(factor) && !any_sign) return std::nullopt;
  const Nf log = a.apply(algebra::Fn::log, factor), one = a.number(1);
  const auto weight = [&](Nf logs) { return a.apply(algebra::Fn::exp, a.neg(logs)); };
  const std::vector<Var> free = a.variables(factor);
  if (std::find(free.begin(), free.end(), steps.n) == free.end()) {
    const auto at = [&](Nf count) { return weight(a.mul(a.iota(count), log)); };
    return Weights{one, at(steps.count), at(a.add(steps.count, one)), at(a.range(steps.n))};
  }
  const Nf before = steps.before(log);
  return Weights{one, weight(before), a.div(weight(before), factor), weight(a.sum({steps.n}, log))};
}

}  // namespace

std::optional<Affine> affine_in(Engine& g, Nf next, Nf carry) {
  const AtomId own = g.only_atom(carry);
  Affine found{g.zero, g.zero};
  for (const Term& t : g.terms(next)) {
    const Mono& m = g.factors(t.mono);
    const bool scaled = std::any_of(
        m.begin(), m.end(), [&](const Factor& f) { return f.atom == own && f.exponent.is_one(); });
    if (scaled)
      found.factor = g.add(found.factor, g.fix(without_atom(m, own), t.coef));
    else
      found.more = g.add(found.more, g.monomial(t.mono, t.coef));
  }
  return found.factor == g.zero ? std::nullopt : std::optional(found);
}

std::optional<Weights> weights_of(Algebra& a, Nf factor, const Steps& steps) {
  if (const auto quotient = by_quotient(a, factor, steps)) return quotient;
  return by_logarithm(a, factor, steps);
}

}  // namespace shardproof::lower
