// Powers: which factors may leave a root; content; poly atoms and their sign.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

void Engine::oblige(Algebra::Obligation::Kind kind, Nf base) {
  for (const auto& o : obligations)
    if (o.base == base && o.kind == kind) return;
  obligations.push_back({kind, base});
}

/// A root has the first of the two: it has a value at 0.
void Engine::oblige_logarithm(Nf argument) {
  oblige(Algebra::Obligation::positive, argument);
  oblige(Algebra::Obligation::nonzero, argument);
}

void Engine::oblige_power(Nf base, Rational e) {
  if (!e.is_integer() && !nonnegative(base)) oblige(Algebra::Obligation::positive, base);
  if (e.sign() < 0 && !positive(base) && !is_inverse(base))
    oblige(Algebra::Obligation::nonzero, base);
}

/// c a^-k ..: not 0. That no a is 0 is an obligation already.
bool Engine::is_inverse(Nf base) const {
  const Poly& all = terms(base);
  return all.size() == 1 && std::all_of(factors(all[0].mono).begin(), factors(all[0].mono).end(),
                                        [](const Factor& f) { return f.exponent.sign() < 0; });
}

Nf Engine::pow(Nf base, Rational e) {
  if (e.is_zero()) return one;
  if (e.is_one()) return base;
  const Key key{base.id, static_cast<uint64_t>(e.num), static_cast<uint64_t>(e.den)};
  if (auto it = pow_cache.find(key); it != pow_cache.end()) return it->second;
  Nf result;
  if (base == zero) {  // 0^-1 stays: an unknown value
    result = e.sign() > 0 ? zero : pow_poly(base, e);
  } else {
    result = is_single(base) ? pow_single(base, e) : pow_poly(base, e);
  }
  if (e.is_integer() && e.sign() > 0 && e.num % 2 == 0) note_square(result, false);
  pow_cache.emplace(key, result);
  return result;
}

std::optional<Nf> Engine::root(Rational value, Rational e) {
  Mono out;
  auto split = [&](int64_t n, Rational sign) {
    for (int64_t p = 2; p <= 2000 && p * p <= n; ++p)
      for (; n % p == 0; n /= p)
        out.push_back({atom({AtomKind::prime, static_cast<uint32_t>(p), {}}), sign});
    if (n > 4000000) return false;  // not known to be prime
    if (n > 1) out.push_back({atom({AtomKind::prime, static_cast<uint32_t>(n), {}}), sign});
    return true;
  };
  if (value.sign() <= 0 || !split(value.num, e) || !split(value.den, -e)) return std::nullopt;
  return fix(out, 1);
}

/// |u| for an atom that stands for a sum u, if u has one sign for all values of its indices, or one
/// in each case of a condition.
std::optional<Nf> Engine::magnitude_of_sum(AtomId a) {
  if (!is_op(a, Op::poly)) return std::nullopt;
  const Nf u = inner(a);
  return fault == Fault::sum_magnitude ? u : magnitude_of_choice(u);
}

/// (c prod a^k)^e. For fractional e a factor a^k leaves the root if a is known
/// to be nonnegative: where a = 0, both sides are 0 or undefined. If k is
/// even, a^k = (a^2)^(k/2), which is a^ke only if ke is even too: sqrt(x^2) is
/// |x|, and a or -a if a sum a has one sign.
Nf Engine::pow_single(Nf base, Rational e) {
  const Term t = terms(base)[0];
  Mono out, rest;
  Nf sums = one;
  if (e.is_integer()) {
    for (const Factor& f : factors(t.mono)) out.push_back({f.atom, f.exponent * e});
    return fix(out, power_of(t.coef, e.num));
  }
  auto even = [](Rational k) { return k.is_integer() && k.num % 2 == 0; };
  for (const Factor& f : factors(t.mono)) {
    Rational k = f.exponent;
    const auto magnitude = even(k) ? magnitude_of_sum(f.atom) : std::nullopt;
    if (magnitude && !even(k * e)) {
      sums = mul(sums, pow(*magnitude, k * e));
    } else if (never_negative(f.atom) || !k.is_integer() || (even(k) && even(k * e))) {
      out.push_back({f.atom, k * e});
    } else if (even(k) && !is_indicator(f.atom)) {
      Nf square = lift(Op::poly, {}, atom_power(f.atom, 2));
      out.push_back({only_atom(square), k * e / 2});
    } else {
      rest.push_back(f);
    }
  }
  Rational inner = t.coef.sign();
  std::optional<Nf> scale_root = root(t.coef.sign() > 0 ? t.coef : -t.coef, e);
  if (!scale_root) inner = t.coef, scale_root = one;
  if (rest.size() == 1 && rest[0].exponent.is_one() && inner.is_one()) {
    out.push_back({rest[0].atom, e});
  } else if (!rest.empty() || !inner.is_one()) {
    Nf inside = lift(Op::poly, {}, monomial(mono(rest), inner));
    out.push_back({only_atom(inside), e});
  }
  return mul(sums, mul(*scale_root, fix(out, 1)));
}

namespace {

/// The coefficient to factor out: the gcd. For fractions that differ by orders of magnitude, as in
/// x + 1e-6, the greatest one, so that its powers stay small. Integers stay integers: S - T - 32768
/// is a difference of indices.
Rational unit(const Poly& p, Rational common) {
  Rational greatest = common;
  for (const Term& t : p) {
    const Rational size = t.coef.sign() < 0 ? -t.coef : t.coef;
    if (greatest < size) greatest = size;
  }
  return common.den == 1 || greatest / common < Rational(10000) ? common : greatest;
}

}  // namespace

Engine::Content Engine::content(Nf base, bool any) {
  const Poly& p = terms(base);
  if (p.empty()) return {1, {}, base};
  int64_t num = 0, den = 1;
  for (const Term& t : p) {
    num = std::gcd(num, t.coef.num);
    Rational q(t.coef.den, std::gcd(den, t.coef.den));
    den = (Rational(den) * q).num;
  }
  struct Seen {
    Factor least;
    size_t terms = 0;
  };
  std::vector<Seen> seen;
  for (const Term& t : p)
    for (const Factor& f : factors(t.mono)) {
      size_t i = 0;
      while (i < seen.size() && seen[i].least.atom != f.atom) ++i;
      if (i == seen.size()) seen.push_back({f});
      ++seen[i].terms;
      if (f.exponent < seen[i].least.exponent) seen[i].least = f;
    }
  Content c;
  c.coef = unit(p, Rational(num, den));
  Mono inverse;
  for (const Seen& each : seen) {
    auto [a, k] = each.least;
    bool everywhere = each.terms == p.size();
    if (atoms[a].kind == AtomKind::size) {
      if (!everywhere && k.sign() > 0) k = 0;
    } else if (atoms[a].kind == AtomKind::prime || !(any || positive_atom(a))) {
      continue;
    } else if (!everywhere && (k.sign() > 0 || !is_op(a, Op::exp))) {
      continue;  // 1 + e^-1 is (e + 1) e^-1
    }
    if (k.is_zero()) continue;
    c.common.push_back({a, k});
    inverse.push_back({a, -k});
  }
  Poly body;
  body.reserve(p.size());
  for (const Term& t : p) {
    if (inverse.empty()) {
      body.push_back({mono(factors(t.mono)), t.coef / c.coef});
      continue;
    }
    Mono m = factors(t.mono);
    for (const Factor& f : inverse) {
      size_t i = 0;
      while (i < m.size() && m[i].atom != f.atom) ++i;
      if (i < m.size()) {
        m[i].exponent = m[i].exponent + f.exponent;
        if (m[i].exponent.is_zero()) m.erase(m.begin() + static_cast<long>(i));
      } else {
        m.push_back(f);
      }
    }
    std::sort(m.begin(), m.end(), [](const Factor& x, const Factor& y) { return x.atom < y.atom; });
    body.push_back({mono(m), t.coef / c.coef});
  }
  c.body = add_all(body);
  const bool is_positive = std::all_of(c.common.begin(), c.common.end(),
                                       [&](const Factor& f) { return sign_of(f).value_or(false); });
  if (is_positive) note_same_sign(base, c.body);
  return c;
}

namespace {

/// -log E, if body = 1 + E for a product E of exp atoms: then 1/body = sigmoid(-log E).
std::optional<Nf> sigmoid_argument(Engine& g, Nf body) {
  const Poly& p = g.terms(body);
  if (p.size() != 2 || !p[0].coef.is_one() || !p[1].coef.is_one()) return std::nullopt;
  size_t constant = g.factors(p[0].mono).empty() ? 0 : 1;
  if (!g.factors(p[constant].mono).empty()) return std::nullopt;
  Nf u = g.zero;
  for (const Factor& f : g.factors(p[1 - constant].mono)) {
    if (!g.is_op(f.atom, Op::exp)) return std::nullopt;
    u = g.sub(u, g.scale(g.inner(f.atom), f.exponent));
  }
  return u;
}

}  // namespace

/// A polynomial to any power: content^e times its poly atom^e. For integer e, uses body or -body,
/// whichever has the older derived tensor.
Nf Engine::pow_poly(Nf base, Rational e) {
  Content c = content(base, e.is_integer());
  Rational coef = 1;
  Nf outside = one;
  if (e.is_integer()) {
    coef = power_of(c.coef, e.num);
  } else if (auto r = root(c.coef, e)) {
    outside = *r;
  } else {
    c.body = scale(c.body, c.coef);
  }
  Mono out;
  for (const Factor& f : c.common) out.push_back({f.atom, f.exponent * e});
  if (e.is_integer() && e.sign() < 0) {
    if (auto u = sigmoid_argument(*this, c.body)) {
      writes_sigmoid = true;
      return mul(fix(out, coef), pow(sigmoid(*u), -e));
    }
  }
  Nf inside = lift(Op::poly, {}, c.body);
  if (e.is_integer()) {
    Nf opposite = lift(Op::poly, {}, scale(c.body, -1));
    if (older(opposite, inside)) {
      inside = opposite;
      if (e.num % 2 != 0) coef = -coef;
    }
  }
  out.push_back({only_atom(inside), e});
  if (e.is_one())
    return monomial(mono([&] {
                      std::sort(out.begin(), out.end(),
                                [](const Factor& x, const Factor& y) { return x.atom < y.atom; });
                      return out;
                    }()),
                    coef);
  return mul(outside, fix(out, coef));
}

/// e as one monomial, not expanded: stands for a polynomial that is too long to
/// distribute.
Nf Engine::cut(Nf e) { return is_single(e) ? e : pow_poly(e, 1); }

}  // namespace shardproof::algebra
