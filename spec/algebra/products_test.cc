// Signs of products and powers, cases of conditions, and digits: each with the side condition on
// and off.
#include <gtest/gtest.h>

#include "spec/algebra/algebra.h"

namespace shardproof::algebra {
namespace {

struct Values {
  explicit Values(Fault fault, int limit = 1) : a(Budget{limit}, fault) {}
  Algebra a;
  Nf one = a.number(1), x = leaf("x"), y = leaf("y"), p = leaf("p", {false, true, {}, false}),
     c = leaf("c", {false, false, {}, true});

  Nf leaf(const std::string& name, const LeafFacts& facts = {}) {
    return a.at(a.leaf(name, {}, facts), {});
  }
  Nf step(Nf e) { return a.apply(Fn::step, e); }
  Nf exp(Nf e) { return a.apply(Fn::exp, e); }
  Nf log(Nf e) { return a.apply(Fn::log, e); }
  bool equal(Nf e, Nf other) { return compare(a, e, other) == Comparison::equal; }
};

TEST(Products, ExponentialsTimesPositiveValuesAreComparedByLogarithms) {
  for (Fault fault : {Fault::none, Fault::exponential_factor}) {
    Values v(fault);
    EXPECT_EQ(v.step(v.a.sub(v.a.mul(v.p, v.exp(v.x)), v.one)), v.step(v.a.add(v.x, v.log(v.p))));
    EXPECT_EQ(v.step(v.a.sub(v.a.mul(v.y, v.exp(v.x)), v.one)) == v.step(v.a.add(v.x, v.log(v.y))),
              fault != Fault::none);
  }
}

TEST(Products, APowerHasTheSignOfItsBaseIfItIsOddOrTheBaseIsNeverNegative) {
  for (Fault fault : {Fault::none, Fault::sign_of_power}) {
    Values v(fault);
    const Nf square = v.a.mul(v.x, v.x), spread = v.a.add(square, v.a.mul(v.y, v.y));
    EXPECT_EQ(v.step(v.a.mul(square, v.x)), v.step(v.x));
    EXPECT_EQ(v.step(v.a.pow(spread, {1, 2})), v.step(spread));
    EXPECT_EQ(v.step(square) == v.step(v.x), fault != Fault::none);
  }
}

TEST(Products, AFactorThatIsZeroWithACommonDenominatorLeavesNothing) {
  Values v(Fault::none);
  const Nf total = v.a.add(v.exp(v.x), v.a.add(v.exp(v.y), v.one)), sum = v.a.add(v.x, v.c);
  const Nf inverse = v.a.pow(total, -1), squared = v.a.pow(total, -2);
  const Nf nothing = v.a.sub(v.a.mul(total, squared), inverse);
  EXPECT_NE(nothing, v.a.number(0));  // as it stands
  EXPECT_EQ(v.a.mul(nothing, sum), v.a.number(0));
  const Nf something = v.a.sub(v.a.mul(v.a.sub(total, v.one), squared), inverse);
  EXPECT_NE(v.a.mul(something, sum), v.a.number(0));
}

TEST(Products, AProductIsPositiveIfBothFactorsAreOrNeitherIs) {
  for (Fault fault : {Fault::none, Fault::sign_of_product}) {
    Values v(fault);
    const Nf product = v.step(v.a.mul(v.x, v.y)), both = v.a.mul(v.step(v.x), v.step(v.y));
    const Nf neither = v.a.mul(v.step(v.a.neg(v.x)), v.step(v.a.neg(v.y)));
    EXPECT_TRUE(v.equal(product, v.a.add(both, neither)));
    EXPECT_EQ(v.equal(product, both), fault != Fault::none);
  }
}

TEST(Products, AFunctionOfAConditionHasTwoValues) {
  for (Fault fault : {Fault::none, Fault::condition_holds}) {
    Values v(fault, 24);
    const Nf turned = v.exp(v.a.mul(v.x, v.a.sub(v.a.mul(v.a.number(2), v.c), v.one)));
    EXPECT_TRUE(v.equal(turned, v.a.where(v.c, v.exp(v.x), v.exp(v.a.neg(v.x)))));
    EXPECT_EQ(v.equal(turned, v.exp(v.x)), fault != Fault::none);
  }
}

TEST(Products, NumbersAreComparedDigitByDigitIfTheLowerDigitIsInItsRange) {
  for (Fault fault : {Fault::none, Fault::digits_apart}) {
    Values v(fault);
    const Nf rows = v.a.size("N"), radix = v.a.size("R");
    for (const Nf range : {radix, v.a.size("L")}) {
      const auto digit = [&](Nf of) { return v.a.var(v.a.fresh(of, "d")); };
      const Nf high = v.a.sub(digit(rows), digit(rows)), low = v.a.sub(digit(range), digit(range));
      const Nf number = v.a.le0(v.a.add(v.a.mul(radix, high), low));
      const Nf digits =
          v.a.add(v.a.le0(v.a.add(high, v.one)), v.a.mul(v.a.eq0(high), v.a.le0(low)));
      EXPECT_EQ(v.equal(number, digits), range == radix || fault != Fault::none);
    }
  }
}

TEST(Products, LogarithmsOfNumbersHaveASign) {
  Values v(Fault::none);
  const auto log = [&](int64_t n) { return v.log(v.a.number(n)); };
  EXPECT_EQ(v.step(v.a.sub(log(10001), log(10000))), v.one);
  EXPECT_EQ(v.step(v.a.sub(log(9999), log(10000))), v.a.number(0));
  EXPECT_EQ(v.step(v.a.sub(v.a.number({7, 10}), log(2))), v.one);
  EXPECT_EQ(v.step(v.a.sub(v.a.number({69, 100}), log(2))), v.a.number(0));
  EXPECT_EQ(v.step(v.a.sub(log(3), v.x)) == v.one, false);
}

TEST(Products, LogarithmsOfInverses) {
  Values v(Fault::none);
  const Nf quotient = v.a.div(v.x, v.y);
  EXPECT_EQ(v.log(v.a.div(v.one, v.x)), v.a.neg(v.log(v.x)));
  EXPECT_EQ(v.log(v.a.div(v.y, v.x)), v.a.neg(v.log(quotient)));
  EXPECT_EQ(v.log(v.a.div(v.a.number(-1), v.x)), v.a.neg(v.log(v.a.neg(v.x))));
  EXPECT_NE(v.log(v.a.mul(quotient, quotient)), v.a.mul(v.a.number(2), v.log(quotient)));
}

/// In the case x = |K| the leaf is a size.
TEST(Products, AValueIsComparedWithASize) {
  Values v(Fault::none);
  const Nf apart = v.a.sub(v.x, v.a.size("K"));
  EXPECT_TRUE(v.equal(v.a.pow(v.a.mul(apart, apart), {1, 2}), v.a.maximum(apart, v.a.neg(apart))));
}

/// (x + y)(p + q) is kept as a product at limit 1; where p + q leaves a sum over x and y, the sums
/// of x and of y are apart again.
TEST(Products, ASumOfASumIsTheSumsOfItsTerms) {
  Values v(Fault::none);
  const Nf size = v.a.size("L");
  const Var i = v.a.fresh(size, "i");
  const auto entry = [&](const std::string& name) {
    return v.a.at(v.a.leaf(name, {size}), {v.a.var(i)});
  };
  const auto sum = [&](Nf e) { return v.a.sum({i}, e); };
  const Nf all = v.a.add(entry("u"), entry("w")), outside = v.a.add(v.x, v.y);
  EXPECT_EQ(sum(v.a.mul(all, outside)), v.a.mul(sum(all), outside));
  EXPECT_NE(sum(v.a.mul(v.a.mul(all, all), outside)), v.a.mul(sum(all), outside));
}

}  // namespace
}  // namespace shardproof::algebra
