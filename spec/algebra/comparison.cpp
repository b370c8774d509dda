// Normalizes terms of which only the sign counts: 1 - 1/s becomes s - 1 for s > 0, and sqrt(x) - 3
// becomes x - 9.
#include <map>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// u times its denominators. They must be nonnegative. They are not 0: that obligation was recorded
/// where they were made.
std::optional<Nf> Engine::without_denominators(Nf u) {
  std::map<AtomId, Rational> least;
  for (const Term& t : Poly(terms(u)))
    for (const Factor& f : Mono(factors(t.mono)))
      if (f.exponent.sign() < 0 && atoms[f.atom].kind == AtomKind::app &&
          (fault == Fault::step_denominator || nonnegative_atom(f.atom, f.exponent))) {
        Rational& known = least[f.atom];
        if (f.exponent < known) known = f.exponent;
      }
  if (least.empty()) return std::nullopt;
  Nf cleared = zero;
  for (const Term& t : Poly(terms(u))) {
    std::map<AtomId, Rational> exponents;
    for (const auto& [atom, exponent] : least) exponents[atom] = -exponent;
    Nf product = number(t.coef);
    for (const Factor& f : Mono(factors(t.mono))) {
      if (least.contains(f.atom))
        exponents[f.atom] = exponents[f.atom] + f.exponent;
      else
        product = mul(product, atom_power(f.atom, f.exponent));
    }
    for (const auto& [atom, exponent] : exponents)
      if (exponent.is_one() && is_op(atom, Op::poly))
        product = mul(product, open(atoms[atom].ref, atoms[atom].args, {}, nullptr));
      else if (!exponent.is_zero())
        product = mul(product, atom_power(atom, exponent));
    cleared = add(cleared, product);
  }
  return cleared;
}

/// p^2 - q^2 for u = p - q, if p or q has a root and both are nonnegative.
std::optional<Nf> Engine::without_roots(Nf u) {
  const Poly both = terms(u);
  if (both.size() != 2 || both[0].coef.sign() == both[1].coef.sign()) return std::nullopt;
  bool has_root = false, whole = true;
  Nf squares = zero;
  for (const Term& t : both) {
    const Nf size = scale(monomial(t.mono, t.coef), t.coef.sign());
    if (fault != Fault::step_square && !nonnegative(size)) return std::nullopt;
    for (const Factor& f : Mono(factors(t.mono))) {
      has_root = has_root || f.exponent == Rational(1, 2);
      whole = whole && (f.exponent * Rational(2)).is_integer();
    }
    squares = add(squares, scale(mul(size, size), t.coef.sign()));
  }
  return has_root && whole ? std::optional(squares) : std::nullopt;
}

/// Scales u to coefficients that do not depend on a factor n: if they differ by orders of
/// magnitude, the greatest becomes 1.
Nf Engine::in_units(Nf u) {
  constexpr int64_t wide = 10000;
  Rational greatest = 0, least = 0;
  for (const Term& t : Poly(terms(u))) {
    const Rational size = t.coef.sign() < 0 ? -t.coef : t.coef;
    if (greatest < size) greatest = size;
    if (least.is_zero() || size < least) least = size;
  }
  if (least.is_zero()) return u;
  try {
    return greatest / least < Rational(wide) ? u : scale(u, Rational(1) / greatest);
  } catch (const Overflow&) {
    return u;
  }
}

/// Returns u if the coefficients overflow.
Nf Engine::same_sign(Nf u) {
  if (terms(u).size() < 2) return u;
  try {
    Nf other = u;
    if (const auto cleared = without_denominators(other)) other = *cleared;
    if (const auto squares = without_roots(other)) other = *squares;
    return other;
  } catch (const Overflow&) {
    return u;
  }
}

}  // namespace shardproof::algebra
