// step(x) = [x > 0], relu, floor, and iota: the functions between reals and integers.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// step(u) without strictly positive content: a factor that may be 0 affects the
/// result.
Nf Engine::step(Nf u) {
  u = same_sign(u);
  if (auto n = as_number(u)) return n->sign() > 0 ? one : zero;
  if (const Nf body = content(u, false).body; integer(body)) return sub(one, le0(body));
  if (positive(u)) return one;
  if (nonnegative(scale(u, -1))) return zero;
  if (below_maximum(u)) return sub(one, eq0(u));
  if (below_maximum(scale(u, -1))) return zero;
  if (const auto choice = step_of_choice(u)) return *choice;
  bool flipped = false;
  Nf s = step_atom(u, &flipped);
  return flipped ? sub(sub(one, s), eq0(u)) : s;
}

Nf Engine::step_atom(Nf u, bool* flipped) {
  Nf body = in_units(content(same_sign(u), fault == Fault::step_content).body);
  Nf plus = lift(Op::step, {}, body), minus = lift(Op::step, {}, scale(body, -1));
  *flipped = older(minus, plus);
  return *flipped ? minus : plus;
}

/// u step(u). If the sign of step is flipped: u - u step(-u), because u [u = 0] = 0. For an integer
/// u >= -1: u + [u = -1].
Nf Engine::relu(Nf u) {
  if (nonnegative(u)) return u;
  if (nonnegative(scale(u, -1)) || below_maximum(scale(u, -1))) return zero;
  if (below_maximum(u)) return u;
  if (integer(u) && (fault == Fault::relu_from_any || nonnegative(add(u, one))))
    return add(u, eq0(add(u, one)));
  if (const Content parts = content(u, false); !integer(u) && integer(parts.body))
    return mul(fix(parts.common, parts.coef), relu(parts.body));
  if (const auto choice = relu_of_choice(u)) return *choice;
  bool flipped = false;
  const Nf s = step_atom(integer(u) ? strip_iota(u) : u, &flipped);
  const Nf body = integer(u) ? u : content(same_sign(u), false).body;
  if (integer(body)) {  // the same choice of sign, with the integer indicator
    const Nf kept =
        mul(flipped ? scale(u, -1) : u, sub(one, le0(flipped ? scale(body, -1) : body)));
    return flipped ? add(u, kept) : kept;
  }
  return flipped ? sub(u, mul(u, s)) : mul(u, s);
}

/// u as one integer over another, which is a number times sizes: i / |A| for an index i of A.
std::optional<Engine::Quotient> Engine::quotient_of_integers(Nf u) {
  std::map<AtomId, Rational> exponents;
  int64_t divisor = 1;
  for (const Term& t : terms(u)) {
    divisor = std::lcm(divisor, t.coef.den);
    for (const Factor& f : factors(t.mono))
      if (atoms[f.atom].kind == AtomKind::size && f.exponent < exponents[f.atom])
        exponents[f.atom] = f.exponent;
  }
  Nf denominator = number(divisor);
  for (const auto& [size, exponent] : exponents)
    if (!exponent.is_zero()) denominator = mul(denominator, atom_power(size, -exponent));
  const Nf numerator = mul(u, denominator);
  if (!integer(numerator) || !integer(denominator)) return std::nullopt;
  return Quotient{numerator, denominator};
}

/// 0 <= u < 1, proved by multiplying with u's denominators.
bool Engine::proper_fraction(Nf u) {
  const auto of = quotient_of_integers(u);
  return of && at_least(of->numerator, 0) &&
         at_least(sub(sub(of->denominator, of->numerator), one), 0);
}

/// Moves integer terms out of floor.
Nf Engine::floor(Nf u) {
  u = strip_iota(u);
  Poly whole, rest;
  for (const Term& t : terms(u)) {
    if (factors(t.mono).empty()) {
      Rational below = t.coef.floor();
      whole.push_back({t.mono, below});
      rest.push_back({t.mono, t.coef - below});
    } else {
      (integer(monomial(t.mono, t.coef)) ? whole : rest).push_back(t);
    }
  }
  Nf outside = add_all(whole), inside = add_all(rest);
  if (as_number(inside)) return outside;  // in [0, 1)
  if (proper_fraction(inside)) return outside;
  if (proper_fraction(add(inside, one))) return sub(outside, one);
  if (const auto flat = nested_floor(inside)) return add(outside, floor(*flat));
  floors = true;
  return add(outside, lift(Op::floor, {}, inside));
}

/// (u + v) / n for (floor(u) + v) / n, where n and v are integers and n > 0: both have the same
/// floor.
std::optional<Nf> Engine::nested_floor(Nf u) {
  for (const Term& t : terms(u)) {
    const Mono& m = factors(t.mono);
    for (size_t i = 0; i < m.size(); ++i) {
      if (!is_op(m[i].atom, Op::floor) || !m[i].exponent.is_one()) continue;
      const Nf part = fix(without(m, i), t.coef), n = pow(part, -1);
      const Nf rest = sub(u, monomial(t.mono, t.coef));
      if (!integer(n) || !positive(n)) continue;
      if (!integer(mul(rest, n)) && fault != Fault::nested_floor) continue;
      return add(rest, mul(inner(m[i].atom), part));
    }
  }
  return std::nullopt;
}

/// floor(a / b) for b > 0: moves out terms that b divides; a remainder in [0, b)
/// vanishes.
Nf Engine::floordiv(Nf a, Nf b) {
  Nf inverse = pow(b, -1), index = strip_iota(a);
  if (integer(index) && nonnegative(b)) {
    Nf quotient = zero, rest = zero;
    for (const Term& t : terms(index)) {
      Nf term = monomial(t.mono, t.coef), part = mul(term, inverse);
      if (integer(part))
        quotient = add(quotient, part);
      else
        rest = add(rest, term);
    }
    if (at_least(rest, 0) && at_least(sub(sub(b, rest), one), 0)) return iota(quotient);
  }
  return floor(mul(a, inverse));
}

/// a without high powers, modulo a prime n: x^n is x there, for an integer x.
Nf Engine::lower_powers(Nf a, Rational n) {
  constexpr int64_t most = 13;
  if (!n.is_integer() || n.num < 2 || n.num > most || !integer(a)) return a;
  for (int64_t k = 2; k * k <= n.num && fault != Fault::power_modulo; ++k)
    if (n.num % k == 0) return a;
  Nf result = zero;
  for (const Term& t : terms(a)) {
    Mono m = factors(t.mono);
    for (Factor& f : m) {
      if (!f.exponent.is_integer() || f.exponent.sign() < 0 || !integer_atom(f.atom)) return a;
      if (!t.coef.is_integer()) return a;
      while (f.exponent.num >= n.num) f.exponent = f.exponent - Rational(n.num - 1);
    }
    result = add(result, fix(m, t.coef));
  }
  return result;
}

Nf Engine::mod(Nf a, Nf b) {
  if (const auto n = as_number(b)) a = lower_powers(a, *n);
  Nf index = strip_iota(a), whole = strip_iota(floordiv(a, b));
  Nf rest = sub(index, mul(b, whole));
  return integer(index) && integer(b) ? iota(rest) : sub(a, mul(b, floordiv(a, b)));
}

/// Entries of leaves, orders of rows, and floors of terms in them and sizes.
bool Engine::is_data(AtomId a) {
  std::vector<AtomId> left{a};
  std::set<AtomId> seen{a};  // floors of floors share their terms
  while (!left.empty()) {
    const AtomId at = left.back();
    left.pop_back();
    if (is_op(at, Op::leaf) || is_op(at, Op::symbol) || atoms[at].kind == AtomKind::size) continue;
    if (!is_op(at, Op::floor)) return false;
    for (const Term& t : terms(inner(at)))
      for (const Factor& f : factors(t.mono))
        if (seen.insert(f.atom).second) left.push_back(f.atom);
  }
  return true;
}

/// An index as a value: moves out constants, sizes and integers that are data (iota[n + C] for
/// `n + iota("C")`); the rest is one atom with one index term.
Nf Engine::iota(Nf index) {
  index = strip_iota(index);
  const auto moves = [&](AtomId atom) {
    const AtomKind kind = atoms[atom].kind;
    return kind == AtomKind::var || (kind == AtomKind::app && !is_data(atom));
  };
  Nf constant = zero, moving = zero;
  for (const Term& t : terms(index)) {
    const Mono& product = factors(t.mono);
    const bool has_index =
        std::any_of(product.begin(), product.end(), [&](const Factor& f) { return moves(f.atom); });
    (has_index ? moving : constant) = add(has_index ? moving : constant, monomial(t.mono, t.coef));
  }
  if (moving == zero) return constant;
  const Poly& all = terms(moving);
  if (std::all_of(all.begin(), all.end(), [](const Term& t) { return t.coef.sign() < 0; }))
    return sub(constant, iota(scale(moving, -1)));
  TensorId t = tensor({Op::iota, "iota", {}, {}, {}, {}, {true, false, {}, false}, {}}, "iota");
  return add(constant, app(t, {moving}));
}

}  // namespace shardproof::algebra
