// Fractions: e times its denominators, where that is a polynomial.
#include <algorithm>
#include <cmath>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

/// The product of two polynomials, distributed at any limit; none if it is too long.
std::optional<Nf> expand(Engine& g, Nf a, Nf b) {
  if (g.terms(a).size() * g.terms(b).size() > 4000) return std::nullopt;
  Nf result = g.zero;
  for (const Term& t : g.terms(b)) result = g.add(result, g.mul_mono(a, t.mono, t.coef));
  return result;
}

/// Also where the budget ends.
struct Clearing {
  explicit Clearing(bool& flag) : clears(flag) { clears = true; }
  ~Clearing() { clears = false; }
  Clearing(const Clearing&) = delete;
  bool& clears;
};

}  // namespace

/// Multiplies residue by the sums (poly atoms) in its denominators and expands; none if the result
/// is too long.
std::optional<Nf> Engine::with_common_denominators(Nf residue) {
  for (int round = 0; round < 4; ++round) {
    Mono missing;
    bool expandable = false;
    for (const Term& t : terms(residue))
      for (const Factor& f : factors(t.mono)) {
        if (!is_op(f.atom, Op::poly)) continue;
        if (f.exponent.sign() > 0 && Rational(1) < f.exponent + Rational(1))
          expandable = expandable || !(f.exponent < Rational(1));
        if (f.exponent.sign() > 0) continue;
        if (inner(f.atom) == zero && fault != Fault::times_zero) return std::nullopt;
        size_t i = 0;
        while (i < missing.size() && missing[i].atom != f.atom) ++i;
        if (i == missing.size())
          missing.push_back({f.atom, -f.exponent});
        else if (missing[i].exponent < -f.exponent)
          missing[i].exponent = -f.exponent;
      }
    if (missing.empty() && !expandable) return residue;
    Nf total = zero;
    for (const Term& t : terms(residue)) {
      Mono m = factors(t.mono), rest;
      for (const Factor& f : missing) m.push_back(f);
      std::sort(m.begin(), m.end(),
                [](const Factor& x, const Factor& y) { return x.atom < y.atom; });
      Nf product = number(t.coef);
      for (size_t i = 0; i < m.size();) {
        Factor f = m[i];
        for (++i; i < m.size() && m[i].atom == f.atom; ++i) f.exponent = f.exponent + m[i].exponent;
        int64_t whole = is_op(f.atom, Op::poly) && f.exponent.sign() > 0 ? f.exponent.floor() : 0;
        if (f.exponent != Rational(whole)) rest.push_back({f.atom, f.exponent - Rational(whole)});
        for (; whole > 0; --whole) {
          auto longer = expand(*this, product, inner(f.atom));
          if (!longer) return std::nullopt;
          product = *longer;
        }
      }
      auto longer = expand(*this, product, fix(rest, 1));
      if (!longer) return std::nullopt;
      total = add(total, *longer);
    }
    if (total == residue || total == zero) return total;
    residue = total;
  }
  return residue;
}

/// e at random values of its atoms, but sums in powers at their own, and how far its terms go up
/// and down. Of use only to see what is worth a closer look.
std::pair<double, double> Engine::at_random(Nf e) {
  double value = 0, size = 0;
  for (const Term& t : terms(e)) {
    double product = static_cast<double>(t.coef.num) / static_cast<double>(t.coef.den);
    for (const Factor& f : factors(t.mono)) {
      auto known = random_values.find(f.atom);
      if (known == random_values.end()) {
        const double drawn = is_op(f.atom, Op::poly)
                                 ? at_random(inner(f.atom)).first
                                 : 0.5 + std::fmod(f.atom * 0.6180339887498949, 1);
        known = random_values.emplace(f.atom, drawn).first;
      }
      product *= std::pow(
          known->second, static_cast<double>(f.exponent.num) / static_cast<double>(f.exponent.den));
    }
    value += product, size += std::abs(product);
  }
  return {value, size};
}

/// Whether e is 0 although its terms do not cancel as they stand: some have a sum as a denominator,
/// which others have not, or less often. A product with such a factor is 0, and need not be written
/// out.
bool Engine::is_zero_fraction(Nf e) {
  if (clearing || is_single(e)) return false;
  if (auto it = zero_fractions.find(e.id); it != zero_fractions.end()) return it->second;
  const auto has_denominator = [&](const Term& t) {
    const Mono& m = factors(t.mono);
    return std::any_of(m.begin(), m.end(), [&](const Factor& f) {
      return f.exponent.sign() < 0 && is_op(f.atom, Op::poly);
    });
  };
  bool found = std::any_of(terms(e).begin(), terms(e).end(), has_denominator);
  if (found) {
    const auto [value, size] = at_random(e);
    found = std::abs(value) < 1e-9 * size;
  }
  if (found) {
    const Clearing now(clearing);
    const auto whole = with_common_denominators(e);
    found = whole && *whole == zero;
  }
  return zero_fractions[e.id] = found;
}

}  // namespace shardproof::algebra
