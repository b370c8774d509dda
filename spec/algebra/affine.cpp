// Index terms as values: |J| iota[c] + iota[j] becomes iota[c |J| + j], so that digits of one index
// remain one index when they are used as numbers.
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

/// stride * iota[index] * rest.
struct Digit {
  MonoId term = 0;
  Nf stride, index;
  MonoId rest = 0;
};

bool is_value_of_index(const Engine& g, const Term& t) {
  int found = 0;
  for (const Factor& f : g.factors(t.mono)) found += g.is_op(f.atom, Op::iota) ? 1 : 0;
  return found == 1;
}

std::optional<Digit> digit(Engine& g, const Term& t) {
  std::optional<Nf> index;
  Mono sizes, rest;
  for (const Factor& f : g.factors(t.mono)) {
    if (g.is_op(f.atom, Op::iota)) {
      if (!f.exponent.is_one()) return std::nullopt;
      index = g.atoms[f.atom].args[0];
    } else {
      (g.atoms[f.atom].kind == AtomKind::size ? sizes : rest).push_back(f);
    }
  }
  if (!index) return std::nullopt;
  return Digit{t.mono, g.monomial(g.mono(sizes), t.coef), *index, g.mono(rest)};
}

/// The number of values of an index term whose first value is 0.
std::optional<Nf> extent(Engine& g, Nf index) {
  const auto b = g.bounds(index);
  if (b.low != g.zero || !b.high) return std::nullopt;
  return g.add(*b.high, g.one);
}

}  // namespace

Nf Engine::gather_iota(Nf e) {
  Poly summands;
  for (const Term& t : terms(e))
    if (is_value_of_index(*this, t)) summands.push_back(t);
  if (summands.size() < 2) return e;
  std::vector<Digit> digits;
  for (const Term& t : summands)
    if (auto d = digit(*this, t)) digits.push_back(*d);
  for (const Digit& low : digits) {
    const auto radix = extent(*this, low.index);
    if (!radix || !integer(*radix)) continue;
    for (const Digit& high : digits) {
      if (high.term == low.term || high.rest != low.rest) continue;
      if (high.stride != mul(low.stride, *radix) && fault != Fault::iota_stride) continue;
      const Nf at = iota(add(mul(high.index, *radix), low.index));
      const Nf pair = add(mul(high.stride, mul_mono(iota(high.index), high.rest, 1)),
                          mul(low.stride, mul_mono(iota(low.index), low.rest, 1)));
      return gather_iota(add(sub(e, pair), mul(low.stride, mul_mono(at, low.rest, 1))));
    }
  }
  return e;
}

}  // namespace shardproof::algebra
