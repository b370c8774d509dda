// Interval bounds of index terms.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// The bounds of an index or of an integer that is data, as terms of sizes.
Engine::Bounds Engine::bounds_of_atom(AtomId a) {
  const Atom& atom = atoms[a];
  if (atom.kind == AtomKind::var) return {zero, sub(vars[atom.ref].range, one)};
  if (idempotent(a)) return {zero, one};
  if (atom.kind != AtomKind::app) return {};
  if (is_op(a, Op::floor)) {
    Bounds of = bounds(inner(a));
    for (std::optional<Nf>* end : {&of.low, &of.high})
      if (*end) *end = floor(**end);
    return of;
  }
  const TensorInfo& t = tensors[atom.ref];
  if (t.facts.below && free_of(*t.facts.below).empty()) return {zero, sub(*t.facts.below, one)};
  if (!t.facts.integer) return {};
  Bounds of;
  if (const auto known = declared_bounds.find(atom.ref); known != declared_bounds.end())
    of = known->second;
  const Interval numbers = interval(a);
  if (!of.low && numbers.low) of.low = number(numbers.low->ceil());
  if (!of.high && numbers.high) of.high = number(numbers.high->floor());
  return of;
}

Engine::Bounds Engine::bounds(Nf e) {
  Bounds sum{zero, zero};
  for (const Term& t : terms(e)) {
    const Mono& m = factors(t.mono);
    const auto is_size = [&](const Factor& f) { return atoms[f.atom].kind == AtomKind::size; };
    const bool of_sizes = std::all_of(m.begin(), m.end(), is_size);
    Mono fixed;
    Bounds of{one, one};
    for (const Factor& f : m) {
      if (!f.exponent.is_integer()) return {};
      if (is_size(f)) {
        if (!of_sizes) fixed.push_back(f);
        continue;
      }
      const Bounds own = bounds_of_atom(f.atom);
      if (f.exponent.is_one() && of.low == one && of.high == one) {
        of = own;
        continue;
      }
      const auto from_zero = [&](const Bounds& b) { return b.low && nonnegative_sizes(*b.low); };
      if (f.exponent.sign() < 0 || !from_zero(own) || !from_zero(of)) return {};
      of.low = zero;
      of.high = of.high && own.high ? std::optional(mul(*of.high, pow(*own.high, f.exponent)))
                                    : std::nullopt;
    }
    const Nf factor = monomial(mono(of_sizes ? m : fixed), t.coef);
    const bool turned = t.coef.sign() < 0;
    const auto add_to = [&](std::optional<Nf>& to, const std::optional<Nf>& more) {
      to = to && more ? std::optional(add(*to, mul(*more, factor))) : std::nullopt;
    };
    add_to(sum.low, turned ? of.high : of.low);
    add_to(sum.high, turned ? of.low : of.high);
  }
  return sum;
}

bool Engine::at_least(Nf e, int64_t bound) {
  if (auto n = as_number(e)) return !(*n < Rational(bound));
  if (terms(e).size() > 16) return false;
  Answers& answers = at_least_cache[bound];
  if (const auto known = answers.of(e)) return *known;
  const Bounds b = bounds(e);
  return answers.set(e, b.low && nonnegative_sizes(sub(*b.low, number(bound))));
}

}  // namespace shardproof::algebra
