// Lower bounds of sums of bounded values: 1 - u > 0 for u = uniform(..), 2 - x - y >= 0 for x, y
// <= 1.
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

/// The bounds that hold for both.
Interval both(Interval a, const Interval& b) {
  if (b.low && (!a.low || *a.low < *b.low || (*a.low == *b.low && b.above)))
    a.low = b.low, a.above = b.above;
  if (b.high && (!a.high || *b.high < *a.high || (*a.high == *b.high && b.below)))
    a.high = b.high, a.below = b.below;
  return a;
}

/// The product of values >= 0; no bounds if one of them may be negative.
Interval product(const Interval& a, const Interval& b) {
  if (!a.low || !b.low || a.low->sign() < 0 || b.low->sign() < 0) return {};
  const auto is_positive = [](const Interval& i) { return i.above || i.low->sign() > 0; };
  Interval both{Rational(0), {}, is_positive(a) && is_positive(b), false};
  if (a.high && b.high) both.high = *a.high * *b.high;
  return both;
}

}  // namespace

/// Declares gap >= 0, or > 0, for all its variables, if it compares every entry of a leaf with a
/// number.
void Engine::declare_bound(Nf gap, bool strict) {
  std::optional<Term> moving;
  Rational constant = 0;
  for (const Term& t : terms(gap)) {
    if (factors(t.mono).empty())
      constant = t.coef;
    else if (std::exchange(moving, t))
      return;
  }
  if (!moving) return;
  const Mono& m = factors(moving->mono);
  if (m.size() != 1 || !m[0].exponent.is_one() || atoms[m[0].atom].kind != AtomKind::app) return;
  if (!every_entry(m[0].atom)) return;
  const Rational limit = -constant / moving->coef;
  strict = strict || fault == Fault::closed_bound;
  Interval own;
  if (moving->coef.sign() > 0)
    own.low = limit, own.above = strict;
  else
    own.high = limit, own.below = strict;
  Interval& known = declared_intervals[atoms[m[0].atom].ref];
  known = both(known, own);
  forget_facts();
  pow_cache.clear();
}

Interval Engine::interval(AtomId a) const {
  const Rational zero_ = 0, one_ = 1;
  if (idempotent(a)) return {zero_, one_, false, false};
  if (atoms[a].kind != AtomKind::app) return {};
  const TensorInfo& t = tensors[atoms[a].ref];
  if (t.op == Op::exp) return {zero_, {}, true, false};
  if (t.op == Op::sigmoid) return {zero_, one_, true, true};
  if (t.op == Op::sin || t.op == Op::cos || t.op == Op::erf) return {-one_, one_, false, false};
  Interval known;
  if (t.facts.fraction) known = {zero_, one_, false, true};
  if (t.facts.positive) known = both(known, {zero_, {}, true, false});
  const auto declared = declared_intervals.find(atoms[a].ref);
  return declared == declared_intervals.end() ? known : both(known, declared->second);
}

/// Whether e > 0 (`strict`) or e >= 0 follows from the bounds of its terms.
bool Engine::bounded_below(Nf e, bool strict) {
  constexpr size_t most_terms = 8;
  if (terms(e).size() > most_terms) return false;
  Rational least = 0;
  bool above = false;
  for (const Term& t : terms(e)) {
    Interval value{Rational(1), Rational(1), false, false};
    const Mono& m = factors(t.mono);
    for (const Factor& f : m) {
      if (!f.exponent.is_integer() || f.exponent.sign() < 0 || Rational(8) < f.exponent)
        return false;
      for (Rational k = 0; k < f.exponent; k = k + Rational(1))
        value =
            &f == &m.front() && k.is_zero() ? interval(f.atom) : product(value, interval(f.atom));
    }
    const std::optional<Rational>& end = t.coef.sign() > 0 ? value.low : value.high;
    if (!end) return false;
    least = least + t.coef * *end;
    above = above || (t.coef.sign() > 0 ? value.above : value.below);
  }
  return least.sign() > 0 || (least.is_zero() && (above || !strict));
}

}  // namespace shardproof::algebra
