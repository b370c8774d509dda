// The sign of polynomials in sizes: each size, and each declared range, is an integer >= 1.
#include <algorithm>
#include <climits>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

using Powers = std::vector<std::pair<uint32_t, int>>;    // symbol and exponent, sorted, none is 0
using Shape = std::vector<std::pair<Powers, Rational>>;  // a Laurent polynomial in symbols >= 1

int exponent_of(const Powers& powers, uint32_t symbol) {
  for (const auto& [s, e] : powers)
    if (s == symbol) return e;
  return 0;
}

void multiply(Powers& powers, uint32_t symbol, int exponent) {
  const auto at = std::lower_bound(powers.begin(), powers.end(), std::pair(symbol, INT_MIN));
  if (at == powers.end() || at->first != symbol)
    powers.insert(at, {symbol, exponent});
  else if ((at->second += exponent) == 0)
    powers.erase(at);
}

/// Adds the coefficients of equal powers.
Shape collected(Shape p) {
  std::sort(p.begin(), p.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  Shape out;
  out.reserve(p.size());
  for (auto& [powers, coef] : p)
    if (!out.empty() && out.back().first == powers)
      out.back().second = out.back().second + coef;
    else
      out.emplace_back(std::move(powers), coef);
  return out;
}

/// A rewrite of a symbol as a scaled product of powers: A = scale * R * |t| for a declared range R
/// = A / (scale |t|).
struct Rule {
  uint32_t symbol;
  Powers powers;
  Rational scale;

  bool changes(const Shape& p) const {
    return std::any_of(p.begin(), p.end(),
                       [&](const auto& each) { return exponent_of(each.first, symbol) != 0; });
  }
};

Shape rewrite(Shape p, const Rule& rule) {
  for (auto& [powers, coef] : p) {
    const int k = exponent_of(powers, rule.symbol);
    if (k == 0) continue;
    multiply(powers, rule.symbol, -k);
    for (const auto& [s, e] : rule.powers) multiply(powers, s, e * k);
    coef = coef * power_of(rule.scale, k);
  }
  return collected(std::move(p));
}

/// The symbols in it, sorted.
std::vector<uint32_t> symbols_of(const Shape& p) {
  std::vector<uint32_t> symbols;
  for (const auto& [powers, coef] : p)
    for (const auto& [s, e] : powers) symbols.push_back(s);
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

/// Multiplies by positive powers so that exponents are nonnegative, and removes common factors.
void clear(Shape& p) {
  for (const uint32_t s : symbols_of(p)) {
    int least = INT_MAX;
    for (const auto& [powers, coef] : p) least = std::min(least, exponent_of(powers, s));
    if (least == 0) continue;
    for (auto& [powers, coef] : p) multiply(powers, s, -least);
  }
}

/// Whether it is >= 0, where that follows from its value at 1 and the signs of its coefficients:
/// it has no negative one, or only that of 1 itself, to which other powers add their least value.
std::optional<bool> sign_at_ones(const Shape& p) {
  Rational at_ones = 0;
  bool grows = true, positive = true;
  for (const auto& [powers, coef] : p) {
    at_ones = at_ones + coef;
    const bool falls =
        std::any_of(powers.begin(), powers.end(), [](const auto& each) { return each.second < 0; });
    if (coef.sign() < 0) positive = false;
    if (falls || (coef.sign() < 0 && !powers.empty())) grows = false;
  }
  if (at_ones.sign() < 0) return false;
  return positive || grows ? std::optional(true) : std::nullopt;
}

/// Substitutes s = 1 + s' for every symbol s >= 1; nonnegative if all coefficients then are.
bool shifted_nonnegative(Shape p) {
  if (const auto known = sign_at_ones(p)) return *known;
  clear(p);
  int degree = 0;
  for (const auto& [powers, coef] : p) {
    int d = 0;
    for (const auto& [s, e] : powers) d += e;
    degree = std::max(degree, d);
  }
  if (degree > 8 || p.size() > 40) return false;
  for (const uint32_t s : symbols_of(p)) {
    Shape out;
    for (auto& [powers, coef] : p) {
      const int k = exponent_of(powers, s);
      if (k != 0) multiply(powers, s, -k);
      Rational binomial = 1;
      for (int i = 0; i <= k; ++i) {
        out.emplace_back(powers, coef * binomial);
        if (i > 0) multiply(out.back().first, s | 0x80000000u, i);
        binomial = binomial * Rational(k - i) / Rational(i + 1);
      }
    }
    p = collected(std::move(out));
    if (p.size() > 400) return false;
  }
  for (const auto& [powers, coef] : p)
    if (coef.sign() < 0) return false;
  return true;
}

std::optional<Shape> shape_of(Engine& g, Nf e) {
  Shape p;
  for (const Term& t : g.terms(e)) {
    p.emplace_back(Powers{}, t.coef);
    for (const Factor& f : g.factors(t.mono)) {
      if (g.atoms[f.atom].kind != AtomKind::size || !f.exponent.is_integer()) return std::nullopt;
      multiply(p.back().first, g.atoms[f.atom].ref, static_cast<int>(f.exponent.num));
    }
  }
  return p;
}

/// Declared single-term ranges R as rules that replace one size by a product with R >= 1.
std::vector<Rule> rules_of(Engine& g) {
  std::vector<Rule> rules;
  for (size_t i = 0; i < g.integral_ranges.size(); ++i) {
    if (!g.is_single(g.integral_ranges[i])) continue;
    const Term t = g.terms(g.integral_ranges[i])[0];
    for (const Factor& lead : g.factors(t.mono)) {
      if (!lead.exponent.is_one()) continue;
      Rule rule{g.atoms[lead.atom].ref,
                {{0x40000000u + static_cast<uint32_t>(i), 1}},
                Rational(1) / t.coef};
      for (const Factor& f : g.factors(t.mono))
        if (f.atom != lead.atom)
          multiply(rule.powers, g.atoms[f.atom].ref, -static_cast<int>(f.exponent.num));
      rules.push_back(rule);
    }
  }
  return rules;
}

}  // namespace

/// Whether e >= 0 for all sizes >= 1 under the declared ranges; false if not proved.
bool Engine::nonnegative_sizes(Nf e) {
  if (auto n = as_number(e)) return n->sign() >= 0;
  if (const auto known = size_sign_cache.of(e)) return *known;
  tick(4);
  size_sign_cache.set(e, false);
  auto shape = shape_of(*this, e);
  if (!shape) return false;
  bool result = shifted_nonnegative(*shape);
  if (!result) {
    Shape all = *shape;
    for (const Rule& rule : rules_of(*this)) {
      if (rule.changes(*shape)) result = shifted_nonnegative(rewrite(*shape, rule));
      if (result) break;
      if (rule.changes(all)) all = rewrite(std::move(all), rule);
    }
    result = result || shifted_nonnegative(std::move(all));
  }
  for (Nf range : integral_ranges) {  // |D| - |h| >= 1 as a declared fact
    if (result || is_single(range)) continue;
    if (auto rest = shape_of(*this, sub(e, sub(range, one)))) result = shifted_nonnegative(*rest);
  }
  return size_sign_cache.set(e, result);
}

}  // namespace shardproof::algebra
