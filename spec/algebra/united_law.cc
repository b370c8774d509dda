// Law: what compare() calls equal by rules that need two values at once has equal values: multiples
// of an angle, comparisons of which one holds, symmetric sums, functions of equal arguments, terms
// under one sum, numbers in digits, rolled indices, blocks. Each is written in two ways; half of
// the time one number of the second is changed.
#include <gtest/gtest.h>

#include <cmath>

#include "spec/algebra/algebra.h"
#include "spec/laws/dice.h"
#include "spec/laws/holds.h"

namespace shardproof::algebra {
namespace {

struct Trial {
  bool right = false, equal = false;
  std::string text;
};

struct Draw {
  laws::Dice dice;
  Algebra a;
  bool changed;
  Draw(laws::Dice words, int limit, Fault fault)
      : dice(std::move(words)), a(Budget{limit, 400000, 400000}, fault), changed(below(2) == 1) {}
  int below(int64_t n) { return static_cast<int>(dice.below(n)); }
  Nf leaf(const std::string& name, bool integer = false) {
    LeafFacts facts;
    facts.integer = integer;
    return a.at(a.leaf(name, {}, facts), {});
  }
  Trial trial(Nf one, Nf two, bool right) {
    return {right, compare(a, one, two) == Comparison::equal,
            a.show(one) + "\nand\n" + a.show(two)};
  }
};

/// cos(k x) and 2 cos^2(k x / 2) - 1.
Trial multiple(Draw& d) {
  const int k = 1 + d.below(4);
  const Rational half(d.changed ? 1 + d.below(9) : k, d.changed ? 1 + d.below(3) : 2);
  const Nf x = d.leaf("x"), c = d.a.apply(Fn::cos, d.a.mul(x, d.a.number(half)));
  return d.trial(d.a.apply(Fn::cos, d.a.mul(x, d.a.number(k))),
                 d.a.sub(d.a.mul(d.a.number(2), d.a.mul(c, c)), d.a.number(1)),
                 half == Rational(k, 2));
}

/// cos(x + k y) and cos x cos(k y) - sin x sin(k y).
Trial sum_of_angles(Draw& d) {
  const int k = 1 + d.below(3), sign = d.changed && d.below(2) ? 1 : -1;
  const int other = d.changed && sign < 0 ? k + 1 : k;
  const Nf x = d.leaf("x"), y = d.leaf("y"), ky = d.a.mul(y, d.a.number(other));
  const Nf sines = d.a.mul(d.a.apply(Fn::sin, x), d.a.apply(Fn::sin, ky));
  return d.trial(d.a.apply(Fn::cos, d.a.add(x, d.a.mul(y, d.a.number(k)))),
                 d.a.add(d.a.mul(d.a.apply(Fn::cos, x), d.a.apply(Fn::cos, ky)),
                         d.a.mul(sines, d.a.number(sign))),
                 sign < 0 && other == k);
}

/// [i >= low] [i <= high] and [i >= low] + [i <= high] - 1; or [i + j <= high] in both.
Trial covering(Draw& d) {
  const int low = d.below(7) - 3, high = d.below(7) - 3;
  const Nf i = d.leaf("i", true), x = d.leaf("x");
  const Nf above = d.a.le0(d.a.sub(d.a.number(low), i));
  const Nf top = d.changed ? d.a.add(i, d.leaf("j", true)) : i;
  const Nf below = d.a.le0(d.a.sub(top, d.a.number(high)));
  return d.trial(d.a.mul(x, d.a.mul(above, below)),
                 d.a.mul(x, d.a.sub(d.a.add(above, below), d.a.number(1))),
                 !d.changed && low <= high + 1);
}

/// The sum of x[u] y[v] over u <= v, where y is x or not, and half of that over all and over u = v.
Trial half_of_a_sum(Draw& d) {
  const Nf K = d.a.size("K");
  const Leaf x = d.a.leaf("x", {K}), y = d.changed ? d.a.leaf("y", {K}) : x;
  const Var u = d.a.fresh(K, "u"), v = d.a.fresh(K, "v");
  const Nf at_u = d.a.at(x, {d.a.var(u)}), at_v = d.a.at(y, {d.a.var(v)}), f = d.a.mul(at_u, at_v);
  const Nf ordered = d.a.le0(d.a.sub(d.a.var(u), d.a.var(v)));
  const Nf same = d.a.at(y, {d.a.var(u)});
  const Nf whole = d.a.add(d.a.sum({u, v}, f), d.a.sum({u}, d.a.mul(at_u, same)));
  return d.trial(d.a.sum({u, v}, d.a.mul(f, ordered)), d.a.mul(whole, d.a.number({1, 2})),
                 !d.changed);
}

/// x[u] > 0 and z = y^2, of which quotients over a dim K are made.
struct Quotients {
  Nf K;
  Var u;
  Nf x, y, z;
};
Quotients quotients(Draw& d) {
  const Nf K = d.a.size("K");
  LeafFacts positive;
  positive.positive = true;
  const Var u = d.a.fresh(K, "u");
  const Nf x = d.a.at(d.a.leaf("x", {K}, positive), {d.a.var(u)}), y = d.leaf("y");
  return {K, u, x, y, d.a.mul(y, y)};
}

/// A function, or an operator on tensors, of x / (x + y) and of 1 - y / (x + k y).
Trial function_of_equals(Draw& d) {
  const auto [K, u, x, y, z] = quotients(d);
  const Nf k = d.a.number(d.changed ? 2 : 1);
  const Nf one = d.a.div(x, d.a.add(x, z));
  const Nf two = d.a.sub(d.a.number(1), d.a.div(z, d.a.add(x, d.a.mul(k, z))));
  const bool operators = d.below(2) == 1;
  const auto of = [&, over = u](Nf e) {
    return operators ? d.a.opaque("op", {{{over}, e}}, {d.a.number(0)}) : d.a.apply(Fn::sigmoid, e);
  };
  return d.trial(d.a.mul(y, of(one)), d.a.mul(y, of(two)), !d.changed);
}

/// The mean of x / (x + y) over a dim, and 1 less the mean of y / (x + k y).
Trial mean_of_quotients(Draw& d) {
  const auto [K, u, x, y, z] = quotients(d);
  const Nf k = d.a.number(d.changed ? 2 : 1);
  const Nf one = d.a.sum({u}, d.a.div(x, d.a.add(x, z)));
  const Nf two = d.a.sum({u}, d.a.div(z, d.a.add(x, d.a.mul(k, z))));
  return d.trial(d.a.div(one, K), d.a.sub(d.a.number(1), d.a.div(two, K)), !d.changed);
}

/// The sum of x / (x + y) over a dim, and 1 less that of y / (x + y): equal for one entry only.
Trial sum_of_quotients(Draw& d) {
  const auto [K, u, x, y, z] = quotients(d);
  const Nf whole = d.a.add(x, z), count = d.changed ? d.a.number(1) : K;
  return d.trial(d.a.sum({u}, d.a.div(x, whole)), d.a.sub(count, d.a.sum({u}, d.a.div(z, whole))),
                 !d.changed);
}

/// The sum of x over all v <= w + c, and the one up to w with the entries between.
Trial sums_to_neighbours(Draw& d) {
  const Nf K = d.a.size("K");
  const Leaf x = d.a.leaf("x", {K});
  const Var v = d.a.fresh(K, "v"), w = d.a.fresh(K, "w");
  const int c = d.below(5) - 2, other = d.changed ? d.below(5) - 2 : c;
  const auto up_to = [&](int offset) {
    const Nf last = d.a.add(d.a.var(w), d.a.number(offset));
    return d.a.sum({v}, d.a.mul(d.a.at(x, {d.a.var(v)}), d.a.le0(d.a.sub(d.a.var(v), last))));
  };
  Nf sum = up_to(0);
  for (int j = std::min(other, 0) + 1; j <= std::max(other, 0); ++j) {
    const Nf at = d.a.add(d.a.var(w), d.a.number(j));
    const Nf inside =
        d.a.mul(d.a.le0(d.a.neg(at)), d.a.le0(d.a.add(d.a.sub(at, K), d.a.number(1))));
    const Nf entry = d.a.mul(inside, d.a.at(x, {at}));
    sum = other > 0 ? d.a.add(sum, entry) : d.a.sub(sum, entry);
  }
  return d.trial(up_to(c), sum, c == other);
}

/// where(w > l, w - l, where(w < -l, w + l, 0)) and sign(w) max(|w| - l, 0), which are one for l >=
/// 0.
Trial soft_threshold(Draw& d) {
  const Nf w = d.leaf("w"), l = d.leaf("l"), zero = d.a.number(0);
  const bool any_sign = d.changed && d.below(2) == 1;
  if (!any_sign) d.a.declare_bound(l, false);
  const Nf inner =
      d.a.where(d.a.sub(d.a.number(1), d.a.le0_real(d.a.neg(d.a.add(w, l)))), zero, d.a.add(w, l));
  const Nf chosen = d.a.where(d.a.le0_real(d.a.sub(w, l)), inner, d.a.sub(w, l));
  const Nf room = d.a.sub(d.a.apply(Fn::abs, w), d.changed && !any_sign ? d.a.neg(l) : l);
  return d.trial(chosen, d.a.mul(d.a.apply(Fn::sign, w), d.a.apply(Fn::relu, room)), !d.changed);
}

/// x where p^k > n^k, and where p > n; of values of any sign for an odd k.
Trial compared_powers(Draw& d) {
  const int k = 2 + d.below(3), n = 1 + d.below(3), other = d.changed ? n + 1 : n;
  const Nf p = d.leaf("p"), x = d.leaf("x");
  const bool any_sign = d.below(2) == 1;
  if (!any_sign) d.a.declare_bound(p, false);
  Rational power = 1;
  for (int i = 0; i < k; ++i) power = power * Rational(other);
  const Nf high = d.a.apply(Fn::step, d.a.sub(d.a.pow(p, k), d.a.number(power)));
  const Nf plain = d.a.apply(Fn::step, d.a.sub(p, d.a.number(n)));
  return d.trial(d.a.mul(x, high), d.a.mul(x, plain), !d.changed && (!any_sign || k % 2 == 1));
}

/// The product of i - k for all k that i may be, or for all but the last, and 0.
Trial few_values(Draw& d) {
  const int low = d.below(5) - 2, count = 1 + d.below(4);
  const Nf i = d.leaf("i", true), x = d.leaf("x");
  d.a.declare_bound(d.a.sub(i, d.a.number(low)), false);
  d.a.declare_bound(d.a.sub(d.a.number(low + count - 1 + (d.changed ? 1 : 0)), i), false);
  Nf product = x;
  for (int k = 0; k < count; ++k) product = d.a.mul(product, d.a.sub(i, d.a.number(low + k)));
  return d.trial(product, d.a.number(0), !d.changed);
}

/// x where (i - j)^k is 0, and where i = j.
Trial zero_of_a_power(Draw& d) {
  const int k = 2 + d.below(2);
  const Nf i = d.leaf("i", true), j = d.leaf("j", true), x = d.leaf("x");
  const Nf apart = d.a.pow(d.a.sub(i, d.changed ? d.a.add(j, d.a.number(1)) : j), k);
  return d.trial(d.a.mul(x, d.a.eq0(apart)), d.a.mul(x, d.a.eq0(d.a.sub(i, j))), !d.changed);
}

/// An entry at n - 1 for 1 <= n <= |K|, and one of which n counts another number.
Trial entry_of_a_count(Draw& d) {
  const Nf K = d.a.size("K"), n = d.leaf("n", true), one = d.a.number(1);
  const Leaf x = d.a.leaf("x", {K});
  const Var v = d.a.fresh(K, "v");
  d.a.declare_bound(d.a.sub(n, one), false);
  d.a.declare_bound(d.a.sub(d.changed ? d.a.add(K, one) : K, n), false);
  const Nf last = d.a.sub(n, one);
  const Nf hot = d.a.sum({v}, d.a.mul(d.a.at(x, {d.a.var(v)}), d.a.eq0(d.a.sub(d.a.var(v), last))));
  return d.trial(hot, d.a.at(x, {last}), !d.changed);
}

/// The sum over q and x with q R + x <= p R + w, or <, and over those with q < p, or q = p and x <=
/// w; where no other digits than 0 to R - 1 exist.
Trial order_of_digits(Draw& d) {
  const bool strict = d.below(2) == 1, wide = d.changed && d.below(2) == 1;
  const Nf N = d.a.size("N"), R = d.a.size("R"), W = wide ? d.a.size("W") : R;
  const Var q = d.a.fresh(N, "q"), p = d.a.fresh(N, "p"), x = d.a.fresh(W, "x"),
            w = d.a.fresh(W, "w");
  const Nf f = d.a.at(d.a.leaf("f", {N, W}), {d.a.var(q), d.a.var(x)}), one = d.a.number(1);
  const Nf high = d.a.sub(d.a.var(q), d.a.var(p)), low = d.a.sub(d.a.var(x), d.a.var(w));
  const auto at_most = [&](Nf e, bool less) { return d.a.le0(less ? d.a.add(e, one) : e); };
  const Nf number = at_most(d.a.add(d.a.mul(R, high), low), strict);
  const Nf own = d.a.mul(d.a.eq0(high), at_most(low, strict != (d.changed && !wide)));
  return d.trial(d.a.sum({q, x}, d.a.mul(f, number)),
                 d.a.sum({q, x}, d.a.mul(f, d.a.add(at_most(high, true), own))), !d.changed);
}

/// x[(v + c) mod K] and x[v + c - K] or x[v + c + K] past an end, for a c of 1 or -1; for 2 and -2
/// one turn does not suffice where K is 1.
Trial rolled(Draw& d) {
  const int by = d.changed ? 2 : 1;
  const bool back = d.below(2) == 1;
  const Nf K = d.a.size("K"), v = d.a.var(d.a.fresh(K, "v")), one = d.a.number(1);
  const Leaf x = d.a.leaf("x", {K});
  const Nf at = d.a.add(v, d.a.number(back ? -by : by));
  const Nf past = back ? d.a.le0(d.a.add(at, one)) : d.a.le0(d.a.sub(K, at));
  const Nf turned = back ? d.a.add(at, K) : d.a.sub(at, K);
  return d.trial(d.a.at(x, {d.a.mod(at, K)}), d.a.where(past, d.a.at(x, {turned}), d.a.at(x, {at})),
                 !d.changed);
}

/// The number of the indices in the block of w, which is the length of a block if all are whole.
Trial length_of_a_block(Draw& d) {
  const Nf K = d.a.size("K"), s = d.a.size("s");
  if (!d.changed) d.a.declare_range(d.a.div(K, s));
  const Var v = d.a.fresh(K, "v"), w = d.a.fresh(K, "w");
  const auto block = [&](Var index) { return d.a.floordiv(d.a.var(index), s); };
  return d.trial(d.a.sum({v}, d.a.eq0(d.a.sub(block(v), block(w)))), s, !d.changed);
}

Trial try_pair(laws::Dice dice, Fault fault) {
  const auto rule = dice.below(16);
  const int limit = rule >= 4 || dice.below(2) ? 24 : 1;
  Draw d(std::move(dice), limit, fault);
  if (rule > 6)
    return rule == 7    ? sums_to_neighbours(d)
           : rule == 8  ? soft_threshold(d)
           : rule == 9  ? compared_powers(d)
           : rule == 10 ? few_values(d)
           : rule == 11 ? zero_of_a_power(d)
           : rule == 12 ? entry_of_a_count(d)
           : rule == 13 ? order_of_digits(d)
           : rule == 14 ? rolled(d)
                        : length_of_a_block(d);
  return rule == 0   ? multiple(d)
         : rule == 1 ? sum_of_angles(d)
         : rule == 2 ? covering(d)
         : rule == 3 ? half_of_a_sum(d)
         : rule == 4 ? function_of_equals(d)
         : rule == 5 ? mean_of_quotients(d)
                     : sum_of_quotients(d);
}

TEST(United, WhatIsCalledEqualIsEqual) {
  int right = 0, proved = 0, wrong = 0;
  EXPECT_TRUE(laws::holds("what is called equal is equal", 1'000, 20'000, [&] {
    const Trial trial = try_pair(laws::Dice(*laws::dice_words(16)), Fault::none);
    (trial.right ? right : wrong)++;
    proved += trial.right && trial.equal;
    if (trial.equal && !trial.right) RC_FAIL(trial.text);
  }));
  EXPECT_GT(wrong, 200);
  EXPECT_GT(proved, right * 3 / 4) << proved << " of " << right;
}

TEST(United, FindPlantedFaults) {
  for (Fault fault : {Fault::angle_multiple, Fault::angle_sum, Fault::covers, Fault::half_sum,
                      Fault::congruence, Fault::shared_sum, Fault::between_offsets,
                      Fault::first_value, Fault::sign_of_power, Fault::digits_apart}) {
    bool fooled = false;
    for (uint64_t seed = 0; seed < 3000 && !fooled; ++seed) {
      const Trial trial = try_pair(laws::Dice(seed), fault);
      fooled = trial.equal && !trial.right;
    }
    EXPECT_TRUE(fooled) << static_cast<int>(fault);
  }
}

}  // namespace
}  // namespace shardproof::algebra
