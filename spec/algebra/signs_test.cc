// Rules about signs and ranges: each with the side condition on and off.
#include <gtest/gtest.h>

#include <cmath>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {
namespace {

constexpr LeafFacts integers{true, false, {}, false, false};

struct Signs {
  explicit Signs(Fault fault) : a({}, fault) {}
  Algebra a;
  Nf size = a.size("L");
  Leaf x = a.leaf("x", {size}), y = a.leaf("y", {size});
  Var i = a.fresh(size, "i"), j = a.fresh(size, "j");
  Nf at_i = a.at(x, {a.var(i)}), at_j = a.at(x, {a.var(j)});
  Nf greatest = a.max({j}, at_j);
  Nf step(Nf e) { return a.apply(Fn::step, e); }
};

TEST(Signs, NoEntryIsAboveTheMaximum) {
  for (Fault fault : {Fault::none, Fault::maximum_out_of_range}) {
    Signs s(fault);
    const Nf one = s.a.number(1), apart = s.a.sub(s.greatest, s.at_i);
    EXPECT_EQ(s.step(apart), s.a.sub(one, s.a.eq0(apart)));
    EXPECT_EQ(s.step(s.a.neg(apart)), s.a.number(0));
    const Nf next = s.a.at(s.x, {s.a.add(s.a.var(s.i), one)});  // beyond the end for the last i
    EXPECT_EQ(s.step(s.a.sub(next, s.greatest)) == s.a.number(0), fault != Fault::none);
    const Nf other = s.a.at(s.y, {s.a.var(s.i)});
    EXPECT_NE(s.step(s.a.sub(other, s.greatest)), s.a.number(0));
  }
}

TEST(Signs, SomeEntryIsTheMaximum) {
  for (Fault fault : {Fault::none, Fault::counted_greatest}) {
    Signs s(fault);
    const auto count = [&](Nf entry) {
      return s.a.sum({s.i}, s.a.eq0(s.a.sub(entry, s.greatest)));
    };
    EXPECT_TRUE(s.a.known_positive(count(s.at_i)));
    const Nf other = s.a.at(s.y, {s.a.var(s.i)});
    EXPECT_EQ(s.a.known_positive(count(other)), fault != Fault::none);
    EXPECT_EQ(s.a.known_positive(count(s.a.neg(s.at_i))), fault != Fault::none);
  }
}

TEST(Signs, TheMaximumOfBothSignsIsAMagnitude) {
  for (Fault fault : {Fault::none, Fault::maximum_of_two}) {
    Signs s(fault);
    const Nf of_magnitudes = s.a.max({s.j}, s.a.apply(Fn::abs, s.at_j));
    EXPECT_EQ(s.a.maximum(s.greatest, s.a.max({s.j}, s.a.neg(s.at_j))), of_magnitudes);
    const Nf other = s.a.max({s.j}, s.a.neg(s.a.at(s.y, {s.a.var(s.j)})));
    EXPECT_EQ(s.a.maximum(s.greatest, other) == of_magnitudes, fault != Fault::none);
  }
}

TEST(Signs, TheMagnitudeOfASumIsTheSumIfItHasOneSign) {
  for (Fault fault : {Fault::none, Fault::sum_magnitude}) {
    Signs s(fault);
    const auto leaves = [&](Nf sum) {  // |x_i (sum)| = |x_i| (sum)
      return s.a.apply(Fn::abs, s.a.mul(s.at_i, sum)) == s.a.mul(s.a.apply(Fn::abs, s.at_i), sum);
    };
    const Nf y = s.a.at(s.y, {s.a.var(s.i)}), z = s.a.at(s.y, {s.a.var(s.j)});
    EXPECT_TRUE(leaves(s.a.add(s.a.number(1), s.a.apply(Fn::exp, y))));
    EXPECT_EQ(leaves(s.a.add(y, z)), fault == Fault::sum_magnitude);
  }
}

TEST(Signs, SumsAreComparedEntryByEntry) {
  for (Fault fault : {Fault::none, Fault::any_case, Fault::common_factor}) {
    Signs s(fault);
    const Nf k = s.a.at(s.a.leaf("k", {}, integers), {});
    const Nf width = s.a.size("J"), none = s.a.number(0);
    const auto from = [&](Nf first, Nf w) {  // sum over j of [width j + first <= k] w
      const Nf index = s.a.add(s.a.mul(width, s.a.var(s.j)), first);
      return s.a.sum({s.j}, s.a.mul(s.a.le0(s.a.sub(index, k)), w));
    };
    const Nf weight = s.a.apply(Fn::sigmoid, s.at_j);
    const Nf all = from(none, weight), fewer = from(width, weight);
    EXPECT_TRUE(s.a.known_nonnegative(s.a.sub(all, fewer)));
    EXPECT_TRUE(s.a.known_positive(s.a.add(s.a.number({1, 1000}), s.a.sub(all, fewer))));
    EXPECT_FALSE(s.a.known_positive(s.a.sub(all, fewer)));
    EXPECT_EQ(s.a.known_nonnegative(s.a.sub(fewer, all)), fault == Fault::any_case);
    EXPECT_EQ(s.a.known_nonnegative(s.a.sub(from(none, s.at_j), from(width, s.at_j))),
              fault == Fault::common_factor);
  }
}

/// [p e^(k x) + q e^(l x) > 0] at all of these, at points where x is far from equality.
TEST(Signs, ExponentialsAreComparedByTheirExponents) {
  for (Fault fault : {Fault::none, Fault::exponential_sign}) {
    int wrong = 0;
    for (int p : {-2, -1, 1, 3})
      for (int q : {-3, -1, 1, 2})
        for (int k : {-1, 0, 1, 2})
          for (int l : {-2, 1, 3}) {
            if (k == l) continue;
            Signs s(fault);
            const auto term = [&](int n, int of) {
              return s.a.mul(s.a.number(n), s.a.apply(Fn::exp, s.a.mul(s.a.number(of), s.at_i)));
            };
            const Nf found = s.step(s.a.add(term(p, k), term(q, l)));
            if (p * q > 0) {
              wrong += !(found == s.a.number(p > 0));
              continue;
            }
            const double apart = std::log(std::abs(double(p) / q));
            for (double x : {-4.0, -0.3, 0.2, 5.0}) {
              // (k - l) x + log(p / -q) > 0 for p > 0, or < 0.
              const double log_ratio = (k - l) * x + apart;
              const bool holds = p > 0 ? log_ratio > 0 : log_ratio < 0;
              const double value = p * std::exp(k * x) + q * std::exp(l * x);
              EXPECT_EQ(holds, value > 0);
            }
            const Nf logarithm = s.a.apply(Fn::log, s.a.number(Rational(std::abs(p), std::abs(q))));
            const Nf linear = s.a.add(s.a.mul(s.a.number(k - l), s.at_i), logarithm);
            wrong += !(found == s.step(p > 0 ? linear : s.a.neg(linear)));
          }
    EXPECT_EQ(wrong > 0, fault != Fault::none);
  }
}

TEST(Signs, LogarithmsOfProductsOfNegatives) {
  for (Fault fault : {Fault::none, Fault::log_of_negative}) {
    Signs s(fault);
    s.a.declare_bound(s.a.neg(s.at_i), true);
    const Nf u = s.a.at(s.y, {s.a.var(s.i)}), log_of_x = s.a.apply(Fn::log, s.a.neg(s.at_i));
    EXPECT_EQ(s.a.apply(Fn::log, s.a.mul(s.at_i, s.at_i)), s.a.mul(s.a.number(2), log_of_x));
    EXPECT_EQ(s.a.apply(Fn::log, s.a.mul(s.at_i, u)),
              s.a.add(log_of_x, s.a.apply(Fn::log, s.a.neg(u))));
    const Nf z = s.a.at(s.a.leaf("z", {s.size}), {s.a.var(s.i)});  // z and u may both be positive
    const Nf apart = s.a.add(s.a.apply(Fn::log, s.a.neg(z)), s.a.apply(Fn::log, s.a.neg(u)));
    EXPECT_EQ(s.a.apply(Fn::log, s.a.mul(u, z)) == apart, fault != Fault::none);
  }
}

TEST(Signs, PowersModuloAPrime) {
  for (Fault fault : {Fault::none, Fault::power_modulo}) {
    int lowered = 0;
    for (int n = 2; n <= 12; ++n) {
      Algebra a({}, fault);
      const Nf k = a.at(a.leaf("k", {}, integers), {}), by = a.number(n);
      const bool same = a.mod(a.pow(k, n), by) == a.mod(k, by);
      bool right = true;
      for (int64_t x = 0; x < n; ++x) {
        int64_t power = 1;
        for (int e = 0; e < n; ++e) power = power * x % n;
        right = right && power == x;
      }
      lowered += same;
      EXPECT_TRUE(right || !same || fault != Fault::none) << n;
    }
    EXPECT_EQ(lowered > 5, fault != Fault::none) << lowered;  // 2, 3, 5, 7, 11
  }
}

/// [x mod m = k] has one form: [(x - k) mod m = 0], and is 0 for a k that is no remainder.
TEST(Signs, RemaindersAreComparedWithZero) {
  for (Fault fault : {Fault::none, Fault::no_remainder}) {
    int wrong = 0;
    for (int m = 2; m <= 6; ++m)
      for (int k = -3; k <= 2 * m; ++k) {
        Algebra a({}, fault);
        const Nf x = a.at(a.leaf("x", {}, integers), {}), by = a.number(m);
        const auto is = [&](Nf of, int to) { return a.eq0(a.sub(a.mod(of, by), a.number(to))); };
        for (int c = -7; c <= 7; ++c) {
          const Nf shifted = is(a.add(x, a.number(c)), k);
          const bool remainder = 0 <= k && k < m;
          wrong += !remainder && !(shifted == a.number(0));
          if (!remainder) continue;
          EXPECT_EQ(shifted, is(x, ((k - c) % m + m) % m)) << m << " " << k;
          EXPECT_EQ(shifted == is(x, 0), (k - c) % m == 0) << m << " " << k;
        }
      }
    EXPECT_EQ(wrong > 0, fault != Fault::none);
  }
}

TEST(Signs, BothSidesOfAThresholdCount) {
  for (Fault fault : {Fault::none, Fault::one_side, Fault::below_threshold}) {
    Signs s(fault);
    const Nf above = s.a.le0(s.a.sub(s.a.size("K"), s.a.var(s.i)));  // [K <= i]
    const Nf all = s.at_i, first = s.a.mul(s.a.sub(s.a.number(1), above), s.at_i);
    EXPECT_EQ(compare(s.a, first, all) == Comparison::equal, fault == Fault::one_side);
    EXPECT_TRUE(s.a.engine().only_below_threshold(first));
    const bool any = fault == Fault::below_threshold;
    EXPECT_EQ(s.a.engine().only_below_threshold(s.a.mul(above, s.at_i)).has_value(), any);
  }
}

TEST(Signs, TheGreaterOfTwoIsPositiveWhereOneIs) {
  for (Fault fault : {Fault::none, Fault::chosen_by_any}) {
    Signs s(fault);
    const Nf x = s.at_i, y = s.a.at(s.y, {s.a.var(s.i)}), z = s.a.at(s.y, {s.a.var(s.j)});
    const Nf a = s.step(x), b = s.step(y), both = s.a.mul(a, b);
    EXPECT_EQ(s.step(s.a.maximum(x, y)), s.a.sub(s.a.add(a, b), both));
    const Nf by_another = s.a.where(s.step(z), x, y);
    EXPECT_EQ(s.step(by_another) == s.a.sub(s.a.add(a, b), both), fault != Fault::none);
    if (fault == Fault::none) {
      EXPECT_EQ(s.step(s.a.minimum(x, y)), both);
    }
  }
}

TEST(Signs, TheMagnitudeOfAChoiceIsThatOfBothValues) {
  for (Fault fault : {Fault::none, Fault::one_choice}) {
    Signs s(fault);
    const Nf c = s.step(s.at_i), e = s.a.apply(Fn::exp, s.at_j), one = s.a.number(1);
    const Nf found = s.a.apply(Fn::abs, s.a.where(c, s.a.add(one, e), s.a.neg(e)));
    EXPECT_EQ(found == s.a.add(c, e), fault == Fault::none);
    EXPECT_EQ(found == s.a.add(one, e), fault != Fault::none);
  }
}

TEST(Signs, AMagnitudeWhereAConditionSaysTheSign) {
  for (Fault fault : {Fault::none, Fault::magnitude_anywhere}) {
    Signs s(fault);
    const auto magnitude = [&](Nf e) { return s.a.apply(Fn::abs, e); };
    const auto where = [&](Nf c, Nf e, Nf other) { return s.a.mul(c, e) == s.a.mul(c, other); };
    const Nf i = s.a.iota(s.a.var(s.i)), j = s.a.iota(s.a.var(s.j)), apart = s.a.sub(i, j);
    const Nf back = s.a.sub(s.a.var(s.j), s.a.var(s.i)), two = s.a.number(2);
    EXPECT_TRUE(where(s.a.le0(back), magnitude(apart), apart));
    EXPECT_FALSE(where(s.a.le0(s.a.sub(back, two)), magnitude(apart), apart));

    const Nf p = s.a.at(s.a.leaf("p", {s.size}, integers), {s.a.var(s.i)});
    const Nf q = s.a.at(s.a.leaf("q", {s.size}, integers), {s.a.var(s.j)}), between = s.a.sub(p, q);
    EXPECT_TRUE(where(s.a.le0(s.a.neg(between)), magnitude(between), between));
    EXPECT_TRUE(where(s.a.le0(s.a.neg(p)), magnitude(p), p));
    EXPECT_EQ(where(s.a.le0(s.a.neg(between)), magnitude(p), p), fault != Fault::none);

    const Nf y = s.a.at(s.y, {s.a.var(s.i)}), gap = s.a.sub(s.at_i, y), greater = s.step(gap);
    EXPECT_TRUE(where(greater, magnitude(gap), gap));
    EXPECT_TRUE(where(s.step(s.at_i), magnitude(s.at_i), s.at_i));
    EXPECT_EQ(where(greater, magnitude(s.at_i), s.at_i), fault != Fault::none);
  }
}

TEST(Signs, ASumUnderAConditionIsTheSumWhereItHolds) {
  Signs s(Fault::none);
  const Nf y = s.a.at(s.y, {s.a.var(s.j)}), one = s.a.number(1);
  const Nf c = s.a.le0(s.a.sub(s.a.var(s.i), s.a.size("K")));  // [i <= K]
  const auto summed = [&](Nf kept) {
    return s.a.sum({s.j}, s.a.mul(s.a.add(s.at_j, y), s.a.sub(y, s.a.mul(kept, s.at_j))));
  };
  EXPECT_EQ(s.a.mul(c, summed(c)), s.a.mul(c, summed(one)));
  EXPECT_EQ(s.a.mul(c, summed(s.a.sub(one, c))), s.a.mul(c, summed(s.a.number(0))));
  const Nf of_j = s.a.le0(s.a.sub(s.a.var(s.j), s.a.size("K")));  // [j <= K]: another j
  EXPECT_NE(s.a.mul(of_j, summed(of_j)), s.a.mul(of_j, summed(one)));
}

TEST(Signs, EqualIndicesAreOneNumber) {
  for (Fault fault : {Fault::none, Fault::equal_indices}) {
    Signs s(fault);
    const Nf i = s.a.iota(s.a.var(s.i)), j = s.a.iota(s.a.var(s.j)), two = s.a.number(2);
    const Nf apart = s.a.sub(s.a.var(s.i), s.a.var(s.j));
    const auto alike = [&](Nf c, Nf one, Nf other) { return s.a.mul(c, one) == s.a.mul(c, other); };
    EXPECT_TRUE(alike(s.a.eq0(apart), s.a.mul(i, s.at_i), s.a.mul(j, s.at_i)));
    EXPECT_TRUE(alike(s.a.eq0(s.a.sub(apart, two)), i, s.a.add(j, two)));
    EXPECT_FALSE(alike(s.a.eq0(s.a.sub(apart, two)), i, j));
    EXPECT_EQ(alike(s.a.le0(apart), i, j), fault != Fault::none);
  }
}

TEST(Signs, AComparisonOfIntegersTimesASizeIsOneOfIntegers) {
  Signs s(Fault::none);
  const Nf k = s.a.at(s.a.leaf("k", {}, integers), {});
  const Nf mean = s.a.div(s.size, s.a.number(3));  // L / 3 < k
  EXPECT_EQ(s.step(s.a.sub(k, mean)), s.step(s.a.sub(s.a.mul(s.a.number(3), k), s.size)));
  EXPECT_EQ(
      s.a.apply(Fn::relu, s.a.sub(k, mean)),
      s.a.div(s.a.apply(Fn::relu, s.a.sub(s.a.mul(s.a.number(3), k), s.size)), s.a.number(3)));
}

TEST(Signs, TwoDimsOfOneSizeAreSummedInEitherOrder) {
  for (Fault fault : {Fault::none, Fault::exchanged_with_one}) {
    Signs s(fault);
    const auto at = [&](Leaf of, Var v) { return s.a.at(of, {s.a.var(v)}); };
    const Leaf w = s.a.leaf("w", {s.size, s.size});
    const auto gap = [&](Var p, Var q) { return s.a.sub(at(s.y, p), at(s.x, q)); };
    const auto by_two = [&](Nf e, Nf of) { return s.a.sum({s.i, s.j}, s.a.mul(of, e)); };
    // |u| over all pairs, as a root and as a choice: other functions, so other orders of the dims.
    const Nf root = s.a.apply(Fn::abs, gap(s.i, s.j));
    const Nf chosen = s.a.maximum(gap(s.j, s.i), s.a.neg(gap(s.j, s.i)));
    const Nf of = s.a.at(w, {s.a.var(s.i), s.a.var(s.j)});
    const Nf turned = s.a.at(w, {s.a.var(s.j), s.a.var(s.i)});
    EXPECT_EQ(compare(s.a, by_two(root, of), by_two(chosen, turned)), Comparison::equal);
    EXPECT_EQ(compare(s.a, by_two(root, of), by_two(chosen, of)) == Comparison::equal,
              fault != Fault::none);
  }
}

TEST(Signs, PowersOfOneMinusAConditionAreItself) {
  for (Fault fault : {Fault::none, Fault::complement_power}) {
    Signs s(fault);
    const auto same_twice = [&](Nf e) {
      const Nf once = s.a.sub(s.a.number(1), e);
      return s.a.pow(once, 2) == once;
    };
    EXPECT_TRUE(same_twice(s.step(s.at_i)));
    EXPECT_EQ(same_twice(s.at_i), fault != Fault::none);
  }
}

TEST(Signs, WhatIsEqualUnderAnEquationMayBeReadInItsPlace) {
  for (Fault fault : {Fault::none, Fault::equal_under_order}) {
    Algebra a({24}, fault);
    const Nf size = a.size("L"), three = a.number(3);
    const Leaf x = a.leaf("x", {size}), k = a.leaf("k", {size}, integers);
    const Var i = a.fresh(size, "i"), j = a.fresh(size, "j");
    const Nf at_i = a.at(k, {a.var(i)}), at_j = a.at(k, {a.var(j)});
    const auto reads = [&](Nf index) { return a.apply(Fn::exp, a.at(x, {index})); };
    const auto same = [&](Nf condition, Nf u, Nf v) {
      return compare(a, a.mul(condition, u), a.mul(condition, v)) == Comparison::equal;
    };
    EXPECT_TRUE(same(a.eq0(a.sub(at_i, three)), reads(at_i), reads(three)));
    EXPECT_TRUE(same(a.eq0(a.sub(at_i, at_j)), reads(at_i), reads(at_j)));
    const Nf apart = a.sub(a.var(i), a.var(j));
    EXPECT_TRUE(same(a.eq0(apart), a.apply(Fn::exp, at_i), a.apply(Fn::exp, at_j)));
    const Nf twice = a.sub(a.add(at_i, at_i), three);  // 2 k = 3: another value
    EXPECT_FALSE(same(a.eq0(a.sub(at_i, three)), reads(at_i), reads(a.number(2))));
    EXPECT_TRUE(same(a.eq0(twice), reads(at_i), reads(three)));  // never holds
    EXPECT_EQ(same(a.le0(a.sub(at_i, three)), reads(at_i), reads(three)), fault != Fault::none);
  }
}

TEST(Signs, WhereASumOfMagnitudesIsZeroEachEntryIs) {
  for (Fault fault : {Fault::none, Fault::zero_sum}) {
    Signs s(fault);
    const Nf square = s.a.mul(s.at_j, s.at_j), y = s.a.at(s.y, {s.a.var(s.j)});
    const auto where_zero = [&](Nf sum, Nf e) { return s.a.mul(s.a.eq0(sum), e); };
    const Nf squares = s.a.sum({s.j}, square), plain = s.a.sum({s.j}, s.at_j);
    const Nf zero = s.a.number(0), with = s.a.sum({s.j}, s.a.mul(s.at_j, y));
    EXPECT_EQ(where_zero(squares, s.at_i), zero);
    EXPECT_EQ(where_zero(squares, with), zero);
    EXPECT_NE(where_zero(squares, s.a.sum({s.j}, y)), zero);
    const Nf beyond = s.a.at(s.x, {s.a.sub(s.a.var(s.i), s.a.number(1))});
    EXPECT_NE(where_zero(squares, beyond), zero);
    EXPECT_EQ(where_zero(plain, with) == zero, fault != Fault::none);
  }
}

TEST(Signs, ASumThatIsZeroOrNotIsPositiveWithItsTest) {
  for (Fault fault : {Fault::none, Fault::zero_or_positive}) {
    Signs s(fault);
    const Nf y = s.a.at(s.y, {s.a.var(s.j)});
    const Nf u = s.a.sum({s.j}, s.a.mul(s.at_j, s.at_j)), v = s.a.sum({s.j}, s.a.mul(y, y));
    EXPECT_TRUE(s.a.known_positive(s.a.add(s.a.mul(s.a.number(2), u), s.a.eq0(u))));
    EXPECT_FALSE(s.a.known_positive(s.a.add(s.at_i, s.a.eq0(s.at_i))));
    EXPECT_EQ(s.a.known_positive(s.a.add(v, s.a.eq0(u))), fault != Fault::none);
  }
}

TEST(Signs, AMaskThatDividesStaysAMask) {
  for (Fault fault : {Fault::none, Fault::mask_divided}) {
    Signs s(fault);
    const Nf mask = s.step(s.at_j), other = s.a.sub(s.a.number(1), mask);
    for (Nf c : {mask, other}) {
      const Nf masked = s.a.mul(c, s.a.mul(s.at_i, s.a.pow(c, -1)));
      EXPECT_EQ(masked == s.at_i, fault != Fault::none && c == mask);
      const bool equal = compare(s.a, masked, s.at_i) == Comparison::equal;
      EXPECT_TRUE(!equal || fault != Fault::none);
    }
    EXPECT_EQ(s.a.mul(mask, s.a.pow(mask, -1)) == mask, fault == Fault::none);
  }
}

TEST(Signs, ADenominatorThatIsZeroHidesNoDifference) {
  for (Fault fault : {Fault::none, Fault::times_zero}) {
    Signs s(fault);
    const Nf none = s.a.pow(s.a.number(0), -1);
    const Nf over = s.a.pow(s.a.add(s.a.number(1), s.a.pow(s.at_i, 2)), -1);
    const Nf one = s.a.add(over, s.a.mul(over, s.a.pow(s.at_i, 2)));
    const auto verdict = compare(s.a, s.a.add(s.at_i, s.a.mul(one, none)), s.a.add(s.at_j, none));
    EXPECT_EQ(verdict == Comparison::equal, fault != Fault::none);
  }
}

/// [k <= 2 j] turns the one function into the other, and back.
TEST(Signs, ConditionsInConditionsEnd) {
  Signs s(Fault::none);
  const Nf one = s.a.number(1), j = s.a.var(s.j);
  const Nf outer = s.a.le0(s.a.sub(s.a.var(s.i), s.a.add(j, j))), first = s.a.eq0(j);
  const Nf inner = s.a.eq0(s.a.sub(s.a.add(one, outer), first));
  const Nf turns = s.a.mul(inner, s.a.sub(one, first));
  for (Nf u : {s.a.add(one, turns), s.a.sub(one, turns)})
    EXPECT_NE(s.a.mul(outer, s.a.apply(Fn::sigmoid, u)), s.a.number(0));
}

}  // namespace
}  // namespace shardproof::algebra
