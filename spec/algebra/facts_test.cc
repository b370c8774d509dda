// What is known of values from their terms alone.
#include <gtest/gtest.h>

#include "spec/algebra/algebra.h"

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

}  // namespace
}  // namespace shardproof::algebra
