// Lower bounds of sums of bounded values: 1 - u > 0 for u = uniform(..), 2 - x - y >= 0 for x, y
// <= 1.
#include <algorithm>
#include <cmath>

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
/// number, or with a term of sizes where the entries are integers.
void Engine::declare_bound(Nf gap, bool strict) {
  std::optional<Term> moving;
  Nf rest = zero;
  for (const Term& t : terms(gap)) {
    const Mono& m = factors(t.mono);
    const bool of_sizes = std::all_of(
        m.begin(), m.end(), [&](const Factor& f) { return atoms[f.atom].kind == AtomKind::size; });
    if (of_sizes)
      rest = add(rest, monomial(t.mono, t.coef));
    else if (std::exchange(moving, t))
      return;
  }
  if (!moving) return;
  const Mono& m = factors(moving->mono);
  if (m.size() != 1 || !m[0].exponent.is_one() || atoms[m[0].atom].kind != AtomKind::app) return;
  if (!every_entry(m[0].atom)) return;
  const auto constant = as_number(rest);
  if (!constant) return declare_size_bound(m[0].atom, moving->coef, rest, strict);
  Rational limit = -*constant / moving->coef;
  strict = strict || fault == Fault::closed_bound;
  const bool from_below = moving->coef.sign() > 0;
  if (const Rational one_ = 1; strict && limit.is_integer() && integer(of_atom(m[0].atom)))
    limit = from_below ? limit + one_ : limit - one_, strict = false;
  Interval own;
  if (from_below)
    own.low = limit, own.above = strict;
  else
    own.high = limit, own.below = strict;
  Interval& known = declared_intervals[atoms[m[0].atom].ref];
  known = both(known, own);
  forget_facts();
  pow_cache.clear();
  indicator_cache.clear();
}

/// Declares coef * leaf + sizes >= 0, or > 0, for a leaf of integers. The first bound of each side
/// counts.
void Engine::declare_size_bound(AtomId leaf, Rational coef, Nf sizes, bool strict) {
  const TensorId of = atoms[leaf].ref;
  if (!tensors[of].facts.integer || !integer(sizes) || (coef * coef) != Rational(1)) return;
  Bounds& known = declared_bounds[of];
  const bool from_below = coef.sign() > 0;
  std::optional<Nf>& side = from_below ? known.low : known.high;
  if (side) return;
  const Nf room = strict ? sub(sizes, one) : sizes;
  side = from_below ? scale(room, -1) : room;
  forget_facts();
  pow_cache.clear();
  indicator_cache.clear();
}

/// Rational bounds of exp u and log u, from 1 + u <= exp u and 1 - 1/u <= log u <= u - 1.
Interval Engine::bounds_of_function(Op op, Nf u) {
  constexpr int most_nested = 3;
  const Rational zero_ = 0, one_ = 1;
  Interval own;
  if (op == Op::exp) own = {zero_, {}, true, false};
  if (interval_nesting >= most_nested) return own;
  ++interval_nesting;
  const Interval of = bounds_of(u);
  --interval_nesting;
  if (op == Op::exp) {
    if (of.low) own = both(own, {one_ + *of.low, {}, of.above, false});
    if (of.high && *of.high < one_) own.high = one_ / (one_ - *of.high), own.below = of.below;
    return own;
  }
  if (of.low && of.low->sign() > 0) own.low = one_ - one_ / *of.low, own.above = of.above;
  const bool defined = of.low && (of.low->sign() > 0 || (of.low->is_zero() && of.above));
  if (of.high && defined) own.high = *of.high - one_, own.below = of.below;
  if (fault == Fault::interval_end) return of;
  return own;
}

Interval Engine::interval(AtomId a) {
  const Rational zero_ = 0, one_ = 1;
  if (idempotent(a)) return {zero_, one_, false, false};
  if (atoms[a].kind != AtomKind::app) return {};
  const TensorInfo& t = tensors[atoms[a].ref];
  if (t.op == Op::exp || t.op == Op::log) return bounds_of_function(t.op, inner(a));
  if (t.op == Op::sigmoid) return {zero_, one_, true, true};
  if (t.op == Op::sin || t.op == Op::cos || t.op == Op::erf) return {-one_, one_, false, false};
  Interval known;
  if (t.facts.fraction) known = {zero_, one_, false, true};
  if (t.facts.positive) known = both(known, {zero_, {}, true, false});
  const auto declared = declared_intervals.find(atoms[a].ref);
  return declared == declared_intervals.end() ? known : both(known, declared->second);
}

/// The bounds of a sum of products, from those of their factors.
Interval Engine::bounds_of(Nf e) {
  constexpr size_t most_terms = 8;
  if (terms(e).size() > most_terms) return {};
  Interval sum{Rational(0), Rational(0), false, false};
  for (const Term& t : terms(e)) {
    Interval value{Rational(1), Rational(1), false, false};
    const Mono& m = factors(t.mono);
    for (const Factor& f : m) {
      if (!f.exponent.is_integer() || f.exponent.sign() < 0 || Rational(8) < f.exponent) return {};
      for (Rational k = 0; k < f.exponent; k = k + Rational(1))
        value =
            &f == &m.front() && k.is_zero() ? interval(f.atom) : product(value, interval(f.atom));
    }
    if (t.coef.sign() < 0) std::swap(value.low, value.high), std::swap(value.above, value.below);
    sum.low = sum.low && value.low ? std::optional(*sum.low + t.coef * *value.low) : std::nullopt;
    sum.high =
        sum.high && value.high ? std::optional(*sum.high + t.coef * *value.high) : std::nullopt;
    sum.above = sum.above || value.above, sum.below = sum.below || value.below;
  }
  return sum;
}

/// The sign of a number, or of a sum of numbers and multiples of their logarithms. None if rounding
/// could decide it.
std::optional<int> Engine::sign_of_number(Nf e) {
  constexpr double rounding = 1e-12;
  double sum = 0, size = 0;
  if (const auto n = as_number(e)) return n->sign();
  for (const Term& t : terms(e)) {
    const Mono& m = factors(t.mono);
    double value = t.coef.value();
    if (!m.empty()) {
      const auto of = m.size() == 1 && m[0].exponent.is_one() && is_op(m[0].atom, Op::log)
                          ? as_number(Nf(tensors[atoms[m[0].atom].ref].body))
                          : std::nullopt;
      if (!of || of->sign() <= 0) return std::nullopt;
      value *= std::log(of->value());
    }
    sum += value, size += std::fabs(value);
  }
  if (std::fabs(sum) <= rounding * size) return std::nullopt;
  return sum < 0 ? -1 : 1;
}

/// Whether e is a sum of values >= 0 times numbers >= 0 that are sums of logarithms: n log(5) - n
/// log(4).
bool Engine::bounded_by_logarithms(Nf e, bool strict) {
  constexpr size_t most_terms = 16;
  if (terms(e).size() > most_terms) return false;
  std::map<MonoId, Nf> numbers;
  for (const Term& t : terms(e)) {
    Nf number_of = number(t.coef);
    const auto of_number = [&](const Factor& f) {
      return is_op(f.atom, Op::log) && f.exponent.is_one() &&
             as_number(Nf(tensors[atoms[f.atom].ref].body));
    };
    Mono rest = factors(t.mono);
    for (const Factor& f : rest)
      if (of_number(f)) number_of = mul(number_of, of_atom(f.atom));
    std::erase_if(rest, of_number);
    const auto [known, fresh] = numbers.try_emplace(mono(rest), zero);
    known->second = add(known->second, number_of);
  }
  if (numbers.size() == terms(e).size()) return false;
  bool positive_too = false;
  for (const auto& [rest, of] : numbers) {
    const auto sign = sign_of_number(of);
    const Nf value = monomial(rest, 1);
    if (!sign || *sign < 0 || (*sign > 0 && !nonnegative(value))) return false;
    positive_too = positive_too || (*sign > 0 && positive(value));
  }
  return positive_too || !strict;
}

/// Whether e > 0 (`strict`) or e >= 0 follows from the bounds of its terms.
bool Engine::bounded_below(Nf e, bool strict) {
  if (const auto sign = sign_of_number(e)) return *sign > 0 || (*sign == 0 && !strict);
  if (bounded_by_logarithms(e, strict)) return true;
  const Interval of = bounds_of(e);
  if (!of.low) return false;
  return of.low->sign() > 0 || (of.low->is_zero() && (of.above || !strict));
}

}  // namespace shardproof::algebra
