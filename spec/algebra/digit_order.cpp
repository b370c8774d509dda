// Numbers are compared digit by digit: q |W| + x <= p |W| + w is q < p, or q = p and x <= w.
#include "spec/algebra/rebuilding.h"

namespace shardproof::algebra {

namespace {

/// low + radix * high, with the sizes and numbers that are a factor of a term as the radix.
struct Leading {
  Nf radix, high, low;
};

std::optional<Leading> leading_digit(Engine& g, Nf e, const Term& lead) {
  Mono sizes;
  for (const Factor& f : g.factors(lead.mono))
    if (g.atoms[f.atom].kind == AtomKind::size) sizes.push_back(f);
  Leading of{g.monomial(g.mono(sizes), lead.coef.sign() < 0 ? -lead.coef : lead.coef), g.zero,
             g.zero};
  const Nf inverse = g.pow(of.radix, -1);
  for (const Term& t : g.terms(e)) {
    const Nf term = g.monomial(t.mono, t.coef), part = g.mul(term, inverse);
    const bool divides = g.integer(part);
    (divides ? of.high : of.low) = g.add(divides ? of.high : of.low, divides ? part : term);
  }
  return g.as_number(of.high) || g.as_number(of.low) ? std::nullopt : std::optional(of);
}

/// [low + radix * high <= 0] = [high < first] + Sum_k [high = k] [low + k radix <= 0] over first <=
/// k <= last, if high < first is always enough, and high > last never. For = 0 without [high <
/// first], where neither is ever enough.
std::optional<Nf> by_leading(Engine& g, AtomKind kind, const Leading& of) {
  constexpr int most = 2;
  const bool any = g.fault == Fault::digits_apart, equal = kind == AtomKind::eq0;
  const auto shifted = [&](int k) { return g.add(of.low, g.scale(of.radix, k)); };
  int first = any ? 0 : 1;
  while (!any && !g.at_least(g.scale(shifted(first - 1), -1), equal ? 1 : 0))
    if (--first < -most) return std::nullopt;
  int last = any ? 0 : first - 1;
  while (!any && !g.at_least(shifted(last + 1), 1))
    if (++last > most) return std::nullopt;
  Nf result = equal ? g.zero : g.le0(g.add(of.high, g.number(1 - first)));
  for (int k = first; k <= last; ++k)
    result =
        g.add(result, g.mul(g.eq0(g.sub(of.high, g.number(k))), g.indicator(kind, shifted(k))));
  return result;
}

}  // namespace

/// [e <= 0] or [e = 0] by its digits. The leading one has the greatest radix.
std::optional<Nf> Engine::split_digits(AtomKind kind, Nf e) {
  std::optional<Leading> leading;
  for (const Term& lead : terms(e))
    if (const auto of = leading_digit(*this, e, lead))
      if (!leading || terms(of->high).size() < terms(leading->high).size()) leading = of;
  const auto split = leading ? by_leading(*this, kind, *leading) : std::nullopt;
  return split ? std::optional(compare_digits(*split)) : std::nullopt;
}

/// e with its comparisons digit by digit.
Nf Engine::compare_digits(Nf e) {
  return with_indicators(e, [&](AtomId a) {
    const AtomKind kind = atoms[a].kind;
    const bool compares = kind == AtomKind::le0 || kind == AtomKind::eq0;
    return compares ? split_digits(kind, atoms[a].args[0]) : std::nullopt;
  });
}

/// The same for the comparisons at any depth.
Nf Engine::with_digits_compared(Nf e) {
  Rebuilding all{*this, {}, [&](Nf body) { return compare_digits(body); }};
  return compare_digits(all.of(e));
}

}  // namespace shardproof::algebra
