// What is known of values from their terms alone.
#include <gtest/gtest.h>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {
namespace {

TEST(Facts, LogarithmsOfSizesAreNotNegative) {
  Algebra a;
  const Nf b = a.size("B"), two = a.number(2), one = a.number(1);
  const auto log = [&](Nf e) { return a.apply(Fn::log, e); };
  EXPECT_TRUE(a.known_positive(log(a.number(10))));
  EXPECT_TRUE(a.known_positive(log(a.add(b, one))));
  EXPECT_TRUE(a.known_nonnegative(log(b)));
  EXPECT_FALSE(a.known_positive(log(b)));
  EXPECT_FALSE(a.known_nonnegative(log(a.div(b, two))));
  EXPECT_FALSE(a.known_nonnegative(log(a.number({1, 2}))));
}

TEST(Facts, AnIndexIsNotNegativeAsAValue) {
  Algebra a;
  const Nf one = a.number(1), i = a.var(a.fresh(a.size("B"), "i"));
  EXPECT_TRUE(a.known_nonnegative(a.iota(i)));
  EXPECT_FALSE(a.known_positive(a.iota(i)));
  EXPECT_FALSE(a.known_nonnegative(a.iota(a.sub(i, one))));
}

TEST(Facts, AMaximumIsAtLeastItsPositiveOperand) {
  Algebra a;
  const Nf zero = a.number(0), one = a.number(1), half = a.number({1, 2}), two = a.number(2);
  const Nf n = a.at(a.leaf("n", {}), {}), m = a.at(a.leaf("m", {}), {});
  EXPECT_TRUE(a.known_positive(a.maximum(n, half)));
  EXPECT_TRUE(a.known_positive(a.maximum(one, n)));
  EXPECT_TRUE(a.known_positive(a.add(a.maximum(n, zero), half)));
  EXPECT_TRUE(a.known_positive(a.sub(two, a.minimum(n, one))));
  EXPECT_TRUE(a.known_nonnegative(a.sub(a.maximum(n, m), n)));
  EXPECT_FALSE(a.known_positive(a.sub(a.maximum(n, m), n)));
  EXPECT_FALSE(a.known_positive(a.maximum(n, zero)));
  EXPECT_FALSE(a.known_nonnegative(a.minimum(n, one)));
  EXPECT_FALSE(a.known_nonnegative(a.maximum(n, m)));
  EXPECT_FALSE(a.known_nonnegative(a.sub(a.maximum(n, one), two)));
}

TEST(Facts, ARootIsPositiveWhereItsBaseIs) {
  Algebra a;
  const Nf size = a.size("B");
  const Var i = a.fresh(size, "i");
  const Nf square = a.sum({i}, a.pow(a.at(a.leaf("x", {size}), {a.var(i)}), 2));
  const Nf norm = a.pow(square, {1, 2});
  EXPECT_TRUE(a.known_positive(a.maximum(norm, a.number({1, 1000}))));
  EXPECT_FALSE(a.known_positive(a.maximum(norm, a.number(0))));
  EXPECT_FALSE(a.known_positive(a.maximum(norm, a.number(-1))));
}

TEST(Facts, ACaseBoundsATermFromOneSide) {
  for (Fault fault : {Fault::none, Fault::case_of_any_sign}) {
    Algebra a({}, fault);
    const Nf n = a.at(a.leaf("n", {}), {}), one = a.number(1);
    const Nf beyond = a.add(n, a.mul(n, a.apply(Fn::step, a.sub(n, one))));  // -5 at -5
    EXPECT_EQ(a.known_positive(beyond), fault == Fault::case_of_any_sign);
  }
}

TEST(Facts, AnInverseIsNotZero) {
  Algebra a;
  const Nf n = a.at(a.leaf("n", {}), {});
  a.div(a.number(1), a.div(a.number(3), n));
  EXPECT_EQ(a.obligations().size(), 1u);
  a.div(a.number(1), a.div(a.at(a.leaf("m", {}), {}), n));
  EXPECT_EQ(a.obligations().size(), 2u);
}

/// A logarithm that is read at one index, or under its condition, owes nothing more. A second
/// operation owes, also if the algebra has its value. Each owes two: not below 0, and not 0.
TEST(Facts, RewritingOwesNothing) {
  Algebra a({.limit = 24});
  const Nf size = a.size("B"), one = a.number(1);
  const Var i = a.fresh(size, "i");
  const Leaf x = a.leaf("x", {size});
  const Nf u = a.at(x, {a.var(i)}), holds = a.apply(Fn::step, a.sub(u, one));
  const Nf masked = a.apply(Fn::log, a.where(holds, u, a.sub(u, a.number(2))));
  EXPECT_EQ(a.obligations().size(), 2u);
  const Nf known = a.mul(holds, masked);
  EXPECT_EQ(known, a.mul(holds, a.engine().log(u)));
  const Nf first = a.substitute(known, {{i, a.number(0)}});
  EXPECT_EQ(a.obligations().size(), 2u);
  EXPECT_EQ(first, a.substitute(a.mul(holds, a.apply(Fn::log, u)), {{i, a.number(0)}}));
  EXPECT_EQ(a.obligations().size(), 4u);
}

TEST(Facts, AnExpandedSquareIsNotNegative) {
  for (Fault fault : {Fault::none, Fault::square}) {
    Algebra a({}, fault);
    const Nf size = a.size("B");
    const Leaf x = a.leaf("x", {size}), y = a.leaf("y", {size});
    const Var i = a.fresh(size, "i");
    const Nf u = a.at(x, {a.var(i)}), v = a.at(y, {a.var(i)}), w = a.at(a.leaf("w", {}), {});
    const Nf square = a.add(a.mul(u, a.add(u, v)), a.mul(v, a.add(u, v)));  // the same terms
    const Nf half = a.number({1, 2});
    EXPECT_FALSE(fault == Fault::none && a.known_nonnegative(square));
    EXPECT_TRUE(a.known_nonnegative(a.pow(a.add(u, v), 2)));
    const Nf mean = a.div(a.sum({i}, a.pow(a.add(u, v), 2)), size);
    EXPECT_TRUE(a.known_nonnegative(mean));
    EXPECT_TRUE(a.known_positive(a.add(mean, half)));
    EXPECT_FALSE(a.known_positive(mean));
    EXPECT_FALSE(a.known_positive(a.sub(mean, half)));
    EXPECT_FALSE(a.known_nonnegative(a.neg(mean)));
    EXPECT_EQ(a.known_nonnegative(a.mul(w, a.add(u, v))), fault == Fault::square);
    EXPECT_FALSE(fault == Fault::none && a.known_nonnegative(a.mul(w, mean)));
  }
}

}  // namespace
}  // namespace shardproof::algebra
