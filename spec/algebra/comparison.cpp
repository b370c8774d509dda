// Normalizes terms of which only the sign counts: 1 - 1/s becomes s - 1 for s > 0, sqrt(x) - 3
// becomes x - 9, and exp(x) - exp(y) becomes x - y.
#include <algorithm>
#include <map>
#include <numeric>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// u times its denominators. They must be nonnegative. They are not 0: that obligation was recorded
/// where they were made.
std::optional<Nf> Engine::without_denominators(Nf u) {
  std::map<AtomId, Rational> least;
  for (const Term& t : terms(u))
    for (const Factor& f : factors(t.mono))
      if (f.exponent.sign() < 0 && atoms[f.atom].kind == AtomKind::app &&
          (fault == Fault::step_denominator || nonnegative_atom(f.atom, f.exponent))) {
        Rational& known = least[f.atom];
        if (f.exponent < known) known = f.exponent;
      }
  if (least.empty()) return std::nullopt;
  Nf cleared = zero;
  for (const Term& t : terms(u)) {
    std::map<AtomId, Rational> exponents;
    for (const auto& [atom, exponent] : least) exponents[atom] = -exponent;
    Nf product = number(t.coef);
    for (const Factor& f : factors(t.mono)) {
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
  const Poly& both = terms(u);
  if (both.size() != 2 || both[0].coef.sign() == both[1].coef.sign()) return std::nullopt;
  bool has_root = false, whole = true;
  Nf squares = zero;
  for (const Term& t : both) {
    const Nf size = scale(monomial(t.mono, t.coef), t.coef.sign());
    if (fault != Fault::step_square && !nonnegative(size)) return std::nullopt;
    for (const Factor& f : factors(t.mono)) {
      has_root = has_root || f.exponent == Rational(1, 2);
      whole = whole && (f.exponent * Rational(2)).is_integer();
    }
    squares = add(squares, scale(mul(size, size), t.coef.sign()));
  }
  return has_root && whole ? std::optional(squares) : std::nullopt;
}

/// The term with which a strictly increasing function of one argument is compared, before that
/// function: v of F(v) = n.
std::optional<Nf> Engine::argument_of(Op op, Rational n) {
  if (op == Op::sigmoid && n == Rational(1, 2)) return zero;
  if (op == Op::erf && n.is_zero()) return zero;
  return std::nullopt;
}

/// log of a term that is a product of exponentials and other values > 0, without its coefficient; 0
/// for a number.
std::optional<Nf> Engine::exponent_of(const Term& t) {
  Nf exponent = zero;
  for (const Factor& f : factors(t.mono)) {
    if (!positive_atom(f.atom) && fault != Fault::exponential_factor) return std::nullopt;
    const Nf of = is_op(f.atom, Op::exp) ? inner(f.atom) : log(of_atom(f.atom));
    exponent = add(exponent, scale(of, f.exponent));
  }
  return exponent;
}

/// u with the sign that it has, but with x for its factors x^3, and sqrt(x) where x is never < 0.
Nf Engine::with_least_powers(Nf u) {
  const Content parts = content(u, true);
  const auto is_one = [](const Factor& f) { return f.exponent.is_one(); };
  if (std::all_of(parts.common.begin(), parts.common.end(), is_one)) return u;
  Nf result = scale(parts.body, parts.coef);
  for (const Factor& f : parts.common) {
    const bool whole = f.exponent.is_integer(), even = whole && f.exponent.num % 2 == 0;
    const Nf base = base_of(f.atom);
    const bool least = f.exponent.sign() > 0 && (nonnegative_atom(f.atom, 1) || (whole && !even) ||
                                                 fault == Fault::sign_of_power);
    result = mul(result, least ? base : pow(base, f.exponent));
  }
  return result;
}

/// p - q for u = p^k - q^k, where k is odd, or p and q are never < 0.
std::optional<Nf> Engine::without_powers(Nf u) {
  const Poly& both = terms(u);
  if (both.size() != 2 || both[0].coef.sign() == both[1].coef.sign()) return std::nullopt;
  int64_t k = 0;
  for (const Term& t : both)
    for (const Factor& f : factors(t.mono)) {
      if (!f.exponent.is_integer()) return std::nullopt;
      k = std::gcd(k, f.exponent.num);
    }
  if (k < 2) return std::nullopt;
  const Rational sign = both[0].coef.sign();
  const auto ratio = root(-both[1].coef / both[0].coef, Rational(1, k));
  if (!ratio || !as_number(*ratio)) return std::nullopt;
  const auto lowered = [&](const Term& t) {
    Mono m = factors(t.mono);
    for (Factor& f : m) f.exponent = f.exponent / Rational(k);
    return fix(m, 1);
  };
  const Nf p = lowered(both[0]), q = lowered(both[1]);
  const bool any_sign = k % 2 == 1 || fault == Fault::sign_of_power;
  if (!any_sign && !(nonnegative(p) && nonnegative(q))) return std::nullopt;
  return scale(sub(p, mul(q, *ratio)), sign);
}

/// a - b + log(p / q) for u = p e^a - q e^b, with p and q of one sign.
std::optional<Nf> Engine::without_exponentials(Nf u) {
  const Poly& both = terms(u);
  if (both.size() != 2) return std::nullopt;
  const auto has_exponential = [&](const Term& t) {
    const Mono& m = factors(t.mono);
    return std::any_of(m.begin(), m.end(), [&](const Factor& f) { return is_op(f.atom, Op::exp); });
  };
  if (!has_exponential(both[0]) && !has_exponential(both[1])) return std::nullopt;
  const bool opposite = both[0].coef.sign() != both[1].coef.sign();
  if (!opposite && fault != Fault::exponential_sign) return std::nullopt;
  const auto a = exponent_of(both[0]), b = exponent_of(both[1]);
  if (!a || !b) return std::nullopt;
  const Rational ratio = both[0].coef / both[1].coef;
  const Nf apart = add(sub(*a, *b), log(number(ratio.sign() < 0 ? -ratio : ratio)));
  return scale(apart, both[0].coef.sign());
}

/// a - b for u = F(a) - F(b) or F(a) - n, where F is strictly increasing. A logarithm must be
/// known to be defined: a comparison has a value also where its operand has none.
std::optional<Nf> Engine::without_increasing(Nf u) {
  const Poly& both = terms(u);
  if (both.empty() || both.size() > 2) return std::nullopt;
  const auto function = [&](const Term& t) -> std::optional<AtomId> {
    const Mono& m = factors(t.mono);
    if (m.size() != 1 || !m[0].exponent.is_one() || !derived(m[0].atom)) return std::nullopt;
    return m[0].atom;
  };
  const auto rises = [&](AtomId a) {
    const Op op = derived(a)->op;
    if (fault == Fault::compared_increasing && op == Op::sin) return true;
    return op == Op::exp || op == Op::sigmoid || op == Op::erf ||
           (op == Op::log && positive(inner(a)));
  };
  std::optional<AtomId> f, other;
  Rational scale_of = 1, constant = 0;
  for (const Term& t : both) {
    if (factors(t.mono).empty())
      constant = t.coef;
    else if (!f)
      f = function(t), scale_of = t.coef;
    else
      other = function(t);
    if (!factors(t.mono).empty() && !f) return std::nullopt;
  }
  if (!f || !rises(*f)) return std::nullopt;
  const Op op = derived(*f)->op;
  std::optional<Nf> against;
  if (both.size() == 2 && constant.is_zero()) {
    const bool same = other && derived(*other)->op == op && rises(*other);
    if (!same || !(both[0].coef + both[1].coef).is_zero()) return std::nullopt;
    against = inner(*other);
  } else {
    against = argument_of(op, -constant / scale_of);
  }
  return against ? std::optional(scale(sub(inner(*f), *against), scale_of.sign())) : std::nullopt;
}

/// [u > 0] for a product: [a b > 0] = [a > 0] [b > 0] + [a < 0] [b < 0]. None for one factor, or
/// with factors of which a power has no sign that is known from them.
std::optional<Nf> Engine::step_of_product(Nf u) {
  constexpr size_t most_factors = 3;
  const Content parts = content(u, true);
  std::vector<Nf> odd;
  Nf defined = one, below = zero;  // all factors are not 0; an odd number of them is < 0
  for (const Factor& f : parts.common) {
    if (positive_atom(f.atom)) continue;
    if (!f.exponent.is_integer() || f.exponent.sign() < 0) return std::nullopt;
    const Nf base = base_of(f.atom);
    if (f.exponent.num % 2 == 0)
      defined = mul(defined, sub(one, eq0(base)));
    else
      odd.push_back(base);
  }
  const auto sign = as_number(parts.body);
  if (!sign) odd.push_back(parts.body);
  if (odd.empty() || odd.size() + (defined == one ? 0 : 1) < 2 || odd.size() > most_factors)
    return std::nullopt;
  Nf above = one;
  for (Nf each : odd) {
    const Nf p = step(each), n = step(scale(each, -1));
    const Nf same = add(mul(above, p), mul(below, n));
    if (fault != Fault::sign_of_product) below = add(mul(above, n), mul(below, p));
    above = same;
  }
  return mul(defined, sign && sign->sign() < 0 ? below : above);
}

/// [u > 0] for a difference of two squares: p^2 - q^2 is (p - q) (p + q).
std::optional<Nf> Engine::step_of_squares(Nf u) {
  const Poly& both = terms(u);
  if (both.size() != 2 || both[0].coef.sign() == both[1].coef.sign()) return std::nullopt;
  Nf sides[2];
  for (int i : {0, 1}) {
    Mono half = factors(both[i].mono);
    for (Factor& f : half) {
      f.exponent = f.exponent / Rational(2);
      if (!f.exponent.is_integer()) return std::nullopt;
    }
    const auto size = root(both[i].coef.sign() < 0 ? -both[i].coef : both[i].coef, Rational(1, 2));
    if (!size) return std::nullopt;
    sides[i] = mul(fix(half, 1), *size);
  }
  if (both[0].coef.sign() < 0) std::swap(sides[0], sides[1]);
  const Nf less = sub(sides[0], sides[1]), more = add(sides[0], sides[1]);
  const Nf above = mul(step(less), step(more));
  if (fault == Fault::sign_of_product) return above;
  return add(above, mul(step(scale(less, -1)), step(scale(more, -1))));
}

/// [u > 0] for u = k |v| + r with a k of one sign: the greater of k v + r and r - k v, or the
/// smaller.
std::optional<Nf> Engine::step_of_magnitude(Nf u) {
  for (const Term& t : terms(u)) {
    const Mono& m = factors(t.mono);
    for (size_t i = 0; i < m.size(); ++i) {
      const auto value = inside_magnitude(m[i]);
      if (!value || m[i].exponent != Rational(1, 2) || !nonnegative(fix(without(m, i), 1)))
        continue;
      const Nf part = mul(*value, fix(without(m, i), t.coef)),
               rest = sub(u, monomial(t.mono, t.coef));
      const Nf a = step(add(rest, part)), b = step(sub(rest, part)), both = mul(a, b);
      return t.coef.sign() < 0 || fault == Fault::sign_of_product ? both : sub(add(a, b), both);
    }
  }
  return std::nullopt;
}

/// e with the signs of products that are compared with 0 as those of their factors.
Nf Engine::split_products(Nf e) {
  return with_indicators(e, [&](AtomId a) -> std::optional<Nf> {
    if (!is_op(a, Op::step)) return std::nullopt;
    const Nf u = inner(a);
    if (const auto split = step_of_product(u)) return split;
    if (const auto split = step_of_squares(u)) return split;
    return step_of_magnitude(u);
  });
}

/// Scales u to coefficients that do not depend on a factor n: if they differ by orders of
/// magnitude, the greatest becomes 1.
Nf Engine::in_units(Nf u) {
  constexpr int64_t wide = 10000;
  Rational greatest = 0, least = 0;
  for (const Term& t : terms(u)) {
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
  try {
    Nf other = u;
    if (const auto exponents = without_exponentials(other)) return same_sign(*exponents);
    if (const auto arguments = without_increasing(other)) return same_sign(*arguments);
    if (terms(u).size() < 2) return with_least_powers(u);
    other = content(u, false).body;  // else the squares of small numbers overflow
    if (const auto cleared = without_denominators(other)) other = *cleared;
    if (const auto squares = without_roots(other)) other = *squares;
    if (const auto values = without_powers(other)) other = *values;
    return other;
  } catch (const Overflow&) {
    return u;
  }
}

}  // namespace shardproof::algebra
