// The sign of polynomials in sizes: each size, and each declared range, is an integer >= 1.
#include <algorithm>
#include <map>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

using Powers = std::map<uint32_t, int>;    // symbol -> exponent
using Shape = std::map<Powers, Rational>;  // a Laurent polynomial in symbols >= 1

/// A rewrite of a symbol as a scaled product of powers: A = scale * R * |t| for a declared range R
/// = A / (scale |t|).
struct Rule {
  uint32_t symbol;
  Powers powers;
  Rational scale;
};

Shape rewrite(const Shape& p, const Rule& rule) {
  Shape out;
  for (const auto& [powers, coef] : p) {
    Powers m = powers;
    Rational c = coef;
    if (auto it = m.find(rule.symbol); it != m.end()) {
      int k = it->second;
      m.erase(it);
      for (auto [s, e] : rule.powers) {
        m[s] += e * k;
        if (m[s] == 0) m.erase(s);
      }
      c = c * power_of(rule.scale, k);
    }
    out[m] = out[m] + c;
  }
  return out;
}

/// Multiplies by positive powers so that exponents are nonnegative, and removes common factors.
Shape cleared(const Shape& p) {
  Powers least;
  for (const auto& [powers, coef] : p)
    for (auto [s, e] : powers) least[s] = 0;
  for (auto& [s, low] : least) {
    bool first = true;
    for (const auto& [powers, coef] : p) {
      auto it = powers.find(s);
      int e = it == powers.end() ? 0 : it->second;
      low = first ? e : std::min(low, e);
      first = false;
    }
  }
  Shape out;
  for (const auto& [powers, coef] : p) {
    Powers m;
    for (const auto& [s, low] : least) {
      auto it = powers.find(s);
      int e = (it == powers.end() ? 0 : it->second) - low;
      if (e != 0) m[s] = e;
    }
    out[m] = out[m] + coef;
  }
  return out;
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
  p = cleared(p);
  std::vector<uint32_t> symbols;
  int degree = 0;
  for (const auto& [powers, coef] : p) {
    int d = 0;
    for (auto [s, e] : powers) symbols.push_back(s), d += e;
    degree = std::max(degree, d);
  }
  if (degree > 8 || p.size() > 40) return false;
  for (uint32_t s : symbols) {
    uint32_t moved = s | 0x80000000u;
    Shape out;
    for (const auto& [powers, coef] : p) {
      auto it = powers.find(s);
      if (it == powers.end()) {
        out[powers] = out[powers] + coef;
        continue;
      }
      Powers m = powers;
      m.erase(s);
      Rational binomial = 1;
      for (int k = 0; k <= it->second; ++k) {
        Powers q = m;
        if (k > 0) q[moved] = k;
        out[q] = out[q] + coef * binomial;
        binomial = binomial * Rational(it->second - k) / Rational(k + 1);
      }
    }
    p = std::move(out);
    if (p.size() > 400) return false;
  }
  for (const auto& [powers, coef] : p)
    if (coef.sign() < 0) return false;
  return true;
}

std::optional<Shape> shape_of(Engine& g, Nf e) {
  Shape p;
  for (const Term& t : g.terms(e)) {
    Powers m;
    for (const Factor& f : g.factors(t.mono)) {
      if (g.atoms[f.atom].kind != AtomKind::size || !f.exponent.is_integer()) return std::nullopt;
      m[g.atoms[f.atom].ref] = static_cast<int>(f.exponent.num);
    }
    p[m] = p[m] + t.coef;
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
          rule.powers[g.atoms[f.atom].ref] = -static_cast<int>(f.exponent.num);
      rules.push_back(rule);
    }
  }
  return rules;
}

}  // namespace

/// Whether e >= 0 for all sizes >= 1 under the declared ranges; false if not proved.
bool Engine::nonnegative_sizes(Nf e) {
  if (auto n = as_number(e)) return n->sign() >= 0;
  if (auto it = size_sign_cache.find(e.id); it != size_sign_cache.end()) return it->second != 0;
  tick(4);
  size_sign_cache[e.id] = false;
  auto shape = shape_of(*this, e);
  if (!shape) return false;
  bool result = shifted_nonnegative(*shape);
  std::vector<Rule> rules = rules_of(*this);
  Shape all = *shape;
  for (const Rule& rule : rules) {
    if (result) break;
    result = shifted_nonnegative(rewrite(*shape, rule));
    all = rewrite(all, rule);
  }
  result = result || shifted_nonnegative(all);
  for (Nf range : integral_ranges) {  // |D| - |h| >= 1 as a declared fact
    if (result || is_single(range)) continue;
    if (auto rest = shape_of(*this, sub(e, sub(range, one)))) result = shifted_nonnegative(*rest);
  }
  size_sign_cache[e.id] = result;
  return result;
}

}  // namespace shardproof::algebra
