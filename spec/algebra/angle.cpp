// Sines and cosines of sums and of multiples: cos(a + b) = cos a cos b - sin a sin b, and
// cos 2a = 2 cos^2 a - 1.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

constexpr size_t most_angles = 3;
constexpr int most_times = 4;

bool is_turning(Engine& g, AtomId a) { return g.is_op(a, Op::sin) || g.is_op(a, Op::cos); }

/// The angles in e that are one term.
std::vector<Nf> single_angles(Engine& g, Nf e) {
  std::vector<Nf> angles;
  for (const Term& t : g.terms(e))
    for (const Factor& f : g.factors(t.mono)) {
      if (!is_turning(g, f.atom)) continue;
      const Nf u = g.inner(f.atom);
      if (g.is_single(u) && std::find(angles.begin(), angles.end(), u) == angles.end())
        angles.push_back(u);
    }
  return angles;
}

/// k, if u = k v for an integer k from 2 on; else 0.
int times(Engine& g, Nf u, Nf v) {
  if (!g.is_single(u)) return 0;
  const Term s = g.terms(u)[0], t = g.terms(v)[0];
  const Rational k = s.coef / t.coef;
  if (s.mono != t.mono || !(Rational(1) < k) || Rational(most_times) < k) return 0;
  return k.is_integer() || g.fault == Fault::angle_multiple ? static_cast<int>(k.floor()) : 0;
}

}  // namespace

/// The sine or cosine of k u for an integer k >= 1.
Nf Engine::multiple_angle(Op op, Nf u, int k) {
  const Nf twice = scale(odd_even(Op::cos, u, false), 2);
  Nf before = op == Op::cos ? one : zero, last = odd_even(op, u, op == Op::sin);
  for (int i = 1; i < k; ++i) {
    const Nf next = sub(mul(twice, last), before);
    before = last, last = next;
  }
  return last;
}

/// The sine or cosine of u; above limit 1 of the terms of u, without integer factors.
Nf Engine::turning(Op op, Nf u) {
  const Poly& parts = terms(u);
  if (budget.limit <= 1 || parts.empty() || parts.size() > most_angles)
    return odd_even(op, u, op == Op::sin);
  const Nf first = monomial(parts[0].mono, parts[0].coef);
  if (parts.size() > 1) {
    const Nf rest = sub(u, first);
    const Nf s = turning(Op::sin, first), c = turning(Op::cos, first);
    const Nf rest_s = turning(Op::sin, rest), rest_c = turning(Op::cos, rest);
    if (op == Op::sin) return add(mul(s, rest_c), mul(c, rest_s));
    return sub(mul(c, rest_c), scale(mul(s, rest_s), fault == Fault::angle_sum ? -1 : 1));
  }
  const Rational k = parts[0].coef.sign() < 0 ? -parts[0].coef : parts[0].coef;
  if (!k.is_integer() || Rational(most_times) < k || factors(parts[0].mono).empty())
    return odd_even(op, u, op == Op::sin);
  return multiple_angle(op, scale(u, Rational(1) / k), static_cast<int>(k.num));
}

/// e with sines and cosines of u in place of those of k u, if e has both.
Nf Engine::common_angles(Nf e) {
  const std::vector<Nf> angles = single_angles(*this, e);
  if (angles.size() < 2) return e;
  Nf result = zero;
  for (const Term& t : terms(e)) {
    Nf product = number(t.coef);
    for (const Factor& f : factors(t.mono)) {
      int most = 0;
      Nf of = zero;
      for (Nf v : angles)
        if (const int k = is_turning(*this, f.atom) ? times(*this, inner(f.atom), v) : 0; k > most)
          most = k, of = v;
      const Op op = is_op(f.atom, Op::sin) ? Op::sin : Op::cos;
      product = mul(product, most > 0 ? pow(multiple_angle(op, of, most), f.exponent)
                                      : atom_power(f.atom, f.exponent));
    }
    result = add(result, product);
  }
  return result;
}

}  // namespace shardproof::algebra
