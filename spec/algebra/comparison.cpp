// What is compared with 0, as its sign alone decides it: 1 - 1/s is s - 1 for s > 0, and
// sqrt(x) - 3 is x - 9.
#include <map>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// u times what is in its denominators. A value in a denominator is not 0, which is owed where it
/// is made; it must not be negative.
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

/// p - q with a root in p or q, both of them not negative: p^2 - q^2.
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

/// Coefficients as content leaves them, but the same for u and n u: where they are far apart it
/// keeps whole ones whole and others at most 1.
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

/// Where its coefficients are too large, u as it is.
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
