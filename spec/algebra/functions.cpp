// exp, log, sigmoid and odd or even functions; each argument becomes a derived tensor.
#include <algorithm>
#include <map>
#include <numeric>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

bool Engine::older(Nf a, Nf b) const {
  const Atom& x = atoms[only_atom(a)];
  const Atom& y = atoms[only_atom(b)];
  if (x.ref != y.ref) return x.ref < y.ref;
  return x.args < y.args;
}

Nf Engine::inner(AtomId a) {
  if (auto it = inner_cache.find(a); it != inner_cache.end()) return it->second;
  Nf u = open(atoms[a].ref, atoms[a].args, {}, nullptr);
  inner_cache.emplace(a, u);
  return u;
}

/// exp(c log u) = u^c. The other terms are grouped by their free variables, one exp atom per group,
/// so that exp(s[q,k] - m[q]) = E(s)[q,k] / E(m)[q].
Nf Engine::exp(Nf u) {
  if (u == zero) return one;
  if (auto masked = exp_minus_infinity(u)) return *masked;
  Nf result = one;
  std::map<VarSet, Poly> groups;
  for (const Term& t : terms(u)) {
    const Mono& m = factors(t.mono);
    if (m.size() == 1 && m[0].exponent.is_one() && is_op(m[0].atom, Op::log))
      result = mul(result, pow(inner(m[0].atom), t.coef));
    else
      groups[mono_vars[t.mono]].push_back(t);
  }
  for (auto& [vars_here, summands] : groups) result = mul(result, exp_group(poly(summands)));
  return result;
}

Nf Engine::exp_group(Nf u) {
  Rational c = content(u, false).coef;
  Nf body = scale(u, Rational(1) / c);
  Nf plus = lift(Op::exp, {}, body), minus = lift(Op::exp, {}, scale(body, -1));
  if (older(minus, plus)) return atom_power(only_atom(minus), -c);
  return atom_power(only_atom(plus), c);
}

AtomId Engine::minus_infinity() {
  return atom({AtomKind::app, tensor({Op::leaf, "-inf", {}, {}, {}, {}, {}, {}}, "-inf"), {}});
}

/// Shannon expansion over the indicators that guard -inf; exp(-inf) = 0. None if there is no -inf,
/// or if its coefficient is not 0 or positive in every case.
std::optional<Nf> Engine::exp_minus_infinity(Nf u) {
  AtomId infinity = minus_infinity();
  std::vector<AtomId> guards;
  Poly finite, infinite;
  for (const Term& t : terms(u)) {
    bool has = false;
    for (const Factor& f : factors(t.mono)) has = has || f.atom == infinity;
    (has ? infinite : finite).push_back(t);
    if (!has) continue;
    for (const Factor& f : factors(t.mono)) {
      if (f.atom == infinity) continue;
      if (!is_indicator(f.atom)) return std::nullopt;
      if (std::find(guards.begin(), guards.end(), f.atom) == guards.end()) guards.push_back(f.atom);
    }
  }
  if (infinite.empty() || guards.size() > 4) return std::nullopt;
  Nf result = zero;
  for (uint32_t set = 0; set < (1u << guards.size()); ++set) {
    auto on = [&](AtomId a) {
      auto it = std::find(guards.begin(), guards.end(), a);
      return it == guards.end() ? -1 : static_cast<int>(set >> (it - guards.begin()) & 1);
    };
    auto assign = [&](const Poly& p, bool drop_infinity) {
      Nf value = zero;
      for (const Term& t : p) {
        Mono m;
        bool vanishes = false;
        for (const Factor& f : factors(t.mono)) {
          int is_on = on(f.atom);
          vanishes = vanishes || is_on == 0;
          if (is_on < 0 && !(drop_infinity && f.atom == infinity)) m.push_back(f);
        }
        if (!vanishes) value = add(value, monomial(mono(m), t.coef));
      }
      return value;
    };
    auto weight = as_number(assign(infinite, true));
    if (!weight || weight->sign() < 0) return std::nullopt;
    if (weight->sign() > 0) continue;
    Nf term = exp(assign(finite, false));
    for (size_t i = 0; i < guards.size(); ++i) {
      Nf guard = of_atom(guards[i]);
      term = mul(term, set >> i & 1 ? guard : sub(one, guard));
    }
    result = add(result, term);
  }
  return result;
}

namespace {

/// log of a factor a^k of a positive product.
Nf log_of_positive(Engine& g, AtomId a, Rational k) {
  if (g.is_op(a, Op::exp)) return g.scale(g.inner(a), k);
  if (g.atoms[a].kind == AtomKind::prime)
    return g.scale(g.log(g.number(static_cast<int64_t>(g.atoms[a].ref))), k);
  if (g.is_op(a, Op::sigmoid))
    return g.scale(g.log(g.add(g.one, g.exp(g.scale(g.inner(a), -1)))), -k);
  if (g.is_op(a, Op::poly)) return g.scale(g.lift(Op::log, {}, g.inner(a)), k);
  return g.scale(g.lift(Op::log, {}, g.of_atom(a)), k);
}

}  // namespace

Nf Engine::log(Nf u) {
  if (u == zero) return lift(Op::log, {}, u);
  if (is_single(u)) {
    const Term t = terms(u)[0];
    Mono rest;
    Nf result = zero;
    Rational coef = t.coef;
    for (const Factor& f : factors(t.mono)) {
      if (never_negative(f.atom))  // the product is not 0, so neither is the factor
        result = add(result, log_of_positive(*this, f.atom, f.exponent));
      else if (f.exponent.is_integer() &&
               (fault == Fault::log_of_negative || negative_where_defined(f.atom)))
        result = add(result, scale(lift(Op::log, {}, scale(of_atom(f.atom), -1)), f.exponent)),
        coef = f.exponent.num % 2 == 0 ? coef : -coef;
      else
        rest.push_back(f);
    }
    auto primes = root(coef.sign() > 0 ? coef : -coef, Rational(1, 2));
    Rational inside = coef;
    if (primes) {  // expands the log of the coefficient into logs of its prime factors
      inside = coef.sign();
      for (int64_t n : {coef.num, coef.den}) {
        int64_t m = n < 0 ? -n : n, sign = n == coef.num ? 1 : -1;
        if (coef.num == coef.den) break;
        for (int64_t p = 2; m > 1; ++p) {
          if (p * p > m) p = m;
          for (; m % p == 0; m /= p)
            result = add(result, scale(lift(Op::log, {}, number(p)), sign));
        }
      }
    }
    // Never defined. As log(-1) + log(-u) it would be log(-u) where common terms do not count.
    if (rest.empty() && inside.sign() < 0) return lift(Op::log, {}, u);
    if (rest.empty() && inside.is_one()) return result;
    return add(result, log_of_any_sign(rest, inside));
  }
  if (const auto w = complement_of_sigmoid(u)) return scale(log(add(one, exp(*w))), -1);
  const Nf power = least_exponential(u);
  if (power != one) u = mul(u, pow(power, -1));
  const Content c = content(u, false);
  const Nf outside = mul(power, fix(c.common, c.coef)), inside = lift(Op::log, {}, c.body);
  return outside == one ? inside : add(log(outside), inside);
}

/// The greatest odd k for which m is n^k; negative if all exponents are.
Rational Engine::odd_power(const Mono& m) const {
  int64_t common = 0;
  bool falls = true;
  for (const Factor& f : m) {
    if (!f.exponent.is_integer()) return 1;
    common = std::gcd(common, f.exponent.num);
    falls = falls && f.exponent.sign() < 0;
  }
  while (common > 0 && common % 2 == 0 && fault != Fault::log_of_power) common /= 2;
  return falls ? -common : common;
}

/// log of a product of factors of any sign: log(n^k) is k log(n) for a root, which is defined only
/// for n >= 0, and for an odd k, since n^k > 0 only where n > 0.
Nf Engine::log_of_any_sign(const Mono& m, Rational coef) {
  const bool is_sign = coef.is_one() || coef == Rational(-1), alone = m.size() == 1;
  if (alone && coef.is_one() && !m[0].exponent.is_integer())
    return scale(log(base_of(m[0].atom)), m[0].exponent);
  if (m.empty() || !is_sign) return lift(Op::log, {}, monomial(mono(m), coef));
  const Rational power = odd_power(m);
  if (alone && power == m[0].exponent && !power.is_one())
    return scale(log(scale(base_of(m[0].atom), coef)), power);
  Mono least = m, inverse;
  for (Factor& f : least) f.exponent = f.exponent / power;
  for (const Factor& f : least) inverse.push_back({f.atom, -f.exponent});
  const Nf plus = lift(Op::log, {}, monomial(mono(least), coef));
  if (alone) return scale(plus, power);
  const Nf minus = lift(Op::log, {}, monomial(mono(inverse), coef));
  return older(minus, plus) ? scale(minus, -power) : scale(plus, power);
}

/// w, if u is 1 - sigmoid(w) = sigmoid(-w).
std::optional<Nf> Engine::complement_of_sigmoid(Nf u) {
  const Nf rest = sub(one, u);
  if (!is_single(rest) || !terms(rest)[0].coef.is_one()) return std::nullopt;
  const Mono& m = factors(terms(rest)[0].mono);
  if (m.size() != 1 || !m[0].exponent.is_one() || !is_op(m[0].atom, Op::sigmoid))
    return std::nullopt;
  return inner(m[0].atom);
}

/// log(e^x + e^y) is x + log(1 + e^(y - x)) or y + log(1 + e^(x - y)): divides by the exponential
/// that gives the oldest quotient.
Nf Engine::least_exponential(Nf u) {
  const Poly& p = terms(u);
  std::vector<Nf> powers;
  for (const Term& t : p) {
    Mono exponentials;
    for (const Factor& f : factors(t.mono))
      if (is_op(f.atom, Op::exp)) exponentials.push_back(f);
    const Nf power = fix(exponentials, 1);
    if (std::find(powers.begin(), powers.end(), power) == powers.end()) powers.push_back(power);
  }
  if (powers.size() < 2 || powers.size() > 4) return one;
  std::vector<Nf> quotients;
  for (const Nf power : powers) quotients.push_back(mul(u, pow(power, -1)));
  const auto least = std::min_element(quotients.begin(), quotients.end());
  return powers[static_cast<size_t>(least - quotients.begin())];
}

/// sigmoid(-u) = 1 - sigmoid(u): uses one of the two signs.
Nf Engine::sigmoid(Nf u) {
  if (u == zero) return number({1, 2});
  Nf plus = lift(Op::sigmoid, {}, u), minus = lift(Op::sigmoid, {}, scale(u, -1));
  return older(minus, plus) ? sub(one, minus) : plus;
}

/// sin(u)^2 = 1 - cos(u)^2.
std::optional<Nf> Engine::fold_sine(const Mono& m, Rational coef) {
  for (size_t i = 0; i < m.size(); ++i) {
    if (!is_op(m[i].atom, Op::sin) || m[i].exponent < Rational(2)) continue;
    Mono rest = m;
    rest[i].exponent = rest[i].exponent - Rational(2);
    if (rest[i].exponent.is_zero()) rest = without(rest, i);
    const Nf cosine = odd_even(Op::cos, inner(m[i].atom), false);
    const Nf square = fault == Fault::sine_square ? cosine : mul(cosine, cosine);
    return mul(sub(one, square), fix(rest, coef));
  }
  return std::nullopt;
}

/// f(-u) = -f(u), or f(-u) = f(u).
Nf Engine::odd_even(Op op, Nf u, bool odd) {
  if (u == zero) return odd ? zero : one;
  Nf plus = lift(op, {}, u), minus = lift(op, {}, scale(u, -1));
  if (older(minus, plus)) return odd ? scale(minus, -1) : minus;
  return plus;
}

Nf Engine::seal(Nf u) {
  if (as_number(u)) return u;
  if (is_single(u) && factors(terms(u)[0].mono).size() == 1) {
    const AtomId only = factors(terms(u)[0].mono)[0].atom;
    if (atoms[only].kind != AtomKind::app || !derived(only) || is_op(only, Op::sealed)) return u;
  }
  return lift(Op::sealed, {}, u);
}

Nf Engine::apply(Fn fn, Nf u) {
  switch (fn) {
    case Fn::exp:
      return exp(u);
    case Fn::log:
      return log(u);
    case Fn::sigmoid:
      writes_sigmoid = true;
      return sigmoid(u);
    case Fn::tanh:
      writes_tanh = true;
      return sub(scale(sigmoid(scale(u, 2)), 2), one);
    case Fn::silu:
      writes_sigmoid = true;
      return mul(u, sigmoid(u));
    case Fn::erf:
      return odd_even(Op::erf, u, true);
    case Fn::sin:
      return turning(Op::sin, u);
    case Fn::cos:
      return turning(Op::cos, u);
    case Fn::abs:
      return magnitude_of_choice(u).value_or(pow(mul(u, u), {1, 2}));
    case Fn::floor:
      return floor(u);
    case Fn::step:
      return step(u);
    case Fn::relu:
      return relu(u);
    case Fn::sign:
      return sub(step(u), step(scale(u, -1)));
  }
  return u;
}

}  // namespace shardproof::algebra
