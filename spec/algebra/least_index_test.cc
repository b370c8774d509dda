// The lowest index at which a row has its maximum, and maxima of other numbers at those entries.
#include <gtest/gtest.h>

#include "spec/algebra/builder.h"
#include "spec/algebra/nf_value.h"
#include "spec/laws/dice.h"
#include "spec/laws/holds.h"

namespace shardproof::algebra {
namespace {

struct LeastIndexTest : testing::Test {
  Builder b;
  Nf V = b.size("V");
  Var j = b.a.fresh(V, "j");
  Nf x = b.at("x", {V}, {b.a.var(j)}), index = b.a.iota(b.a.var(j));
  Nf is_greatest = b.a.eq0(b.a.sub(x, b.a.max({j}, x)));

  auto found(Nf condition, Nf at_maximum, Nf elsewhere) {
    return least_index(b.a, {j}, b.a.var(j), b.a.where(condition, at_maximum, elsewhere));
  }
};

TEST_F(LeastIndexTest, IsFoundForNumbersAboveEveryIndex) {
  const auto least = found(is_greatest, b.a.neg(index), b.a.neg(V));
  ASSERT_TRUE(least);
  EXPECT_EQ(least->row, x);
  EXPECT_EQ(b.a.add(least->greatest, index), b.n(0));
  EXPECT_TRUE(found(is_greatest, b.a.sub(V, index), b.n(0)));
  EXPECT_TRUE(found(is_greatest, b.a.sub(b.a.sub(V, b.n(1)), index), b.n(0)));
}

TEST_F(LeastIndexTest, OfANegatedRowIsThatOfItsMinimum) {
  const Nf low = b.a.neg(b.a.max({j}, b.a.neg(x)));
  const auto least = found(b.a.eq0(b.a.sub(x, low)), b.a.neg(index), b.a.neg(V));
  ASSERT_TRUE(least);
  EXPECT_EQ(least->row, b.a.neg(x));
}

TEST_F(LeastIndexTest, IsFoundForNumbersThatFallFromBlockToBlock) {
  const Nf W = b.size("W"), all = b.a.mul(V, W);
  const auto place = [&](Nf below) {
    LeafFacts facts;
    facts.integer = true, facts.below = below;
    return b.a.at(b.a.leaf("place" + std::to_string(below.id), {V}, facts), {b.a.var(j)});
  };
  const Nf first = b.a.sub(all, b.a.mul(W, index));
  EXPECT_TRUE(found(is_greatest, b.a.sub(first, place(W)), b.n(0)));
  EXPECT_FALSE(found(is_greatest, b.a.sub(first, place(b.a.add(W, b.n(1)))), b.n(0)));
  EXPECT_FALSE(found(is_greatest, b.a.add(first, place(W)), b.n(0)));
}

TEST_F(LeastIndexTest, OtherMaximaAreKept) {
  EXPECT_FALSE(found(is_greatest, b.a.neg(index), b.n(0)));               // an index may be above 0
  EXPECT_FALSE(found(is_greatest, b.a.neg(index), b.n(-100)));            // and above 100
  EXPECT_FALSE(found(is_greatest, index, b.n(-1)));                       // the highest index
  EXPECT_FALSE(found(is_greatest, b.a.mul(b.n(-2), index), b.a.neg(V)));  // 2 V - 2 may be above V
  EXPECT_FALSE(found(b.a.eq0(x), b.a.neg(index), b.a.neg(V)));            // no entry may be 0
  const Nf second = b.a.sub(b.a.max({j}, x), b.n(1));
  EXPECT_FALSE(found(b.a.eq0(b.a.sub(x, second)), b.a.neg(index), b.a.neg(V)));
}

/// Rows, numbers and conditions of which some are those of a lowest index. Returns how many entries
/// differ from the maximum.
int wrong(laws::Dice dice, Fault fault, int* decided) {
  const SizeValues sizes = {{"V", 5}, {"K", 3}};
  Algebra a({}, fault);
  const Nf V = a.size("V");
  const Var j = a.fresh(V, "j");
  const char* const names[] = {"x", "i", "w"};  // ids and small integers have ties
  const bool negated = dice.below(2);
  Nf row = a.at(a.leaf(names[dice.below(3)], {V}), {a.var(j)});
  if (negated) row = a.neg(row);
  const Nf greatest = a.max({j}, row);
  const Nf by = a.number(dice.below(4) ? 0 : 1);
  const Nf condition = a.eq0(a.sub(a.sub(row, greatest), by));
  const Nf numbers[] = {V, a.sub(V, a.number(1)), a.size("K"), a.number(0), a.number(3)};
  const Nf above = numbers[dice.below(5)], shift = a.number(static_cast<int>(dice.below(3)) - 1);
  const Nf step = a.number(dice.below(2) ? 1 : 2), all = a.sub(a.mul(step, above), shift);
  LeafFacts facts;
  facts.integer = true, facts.below = a.size("K");
  const Nf rest = dice.below(2) ? a.number(0) : a.at(a.leaf("ids", {V}, facts), {a.var(j)});
  const Nf index = a.add(a.mul(step, a.iota(a.var(j))), rest);
  const Nf body = a.where(condition, a.sub(all, index), a.neg(shift));
  const auto least = least_index(a, {j}, a.var(j), body);
  if (!least) return 0;
  ++*decided;
  NfValue value{a.engine(), sizes};
  double most = -HUGE_VAL, best = -HUGE_VAL, first = 0;
  for (int k = 0; k < sizes.at("V"); ++k) {
    most = std::fmax(most, value(body, {{j.id, k}}));
    const double x = value(least->row, {{j.id, k}});
    if (x > best) best = x, first = k;
  }
  return most != value(least->greatest, {{j.id, static_cast<int>(first)}});
}

TEST(LeastIndexLaw, IsTheMaximum) {
  int decided = 0;
  EXPECT_TRUE(laws::holds("k less the lowest index is the maximum", 1'000, 20'000, [&] {
    RC_ASSERT(wrong(laws::Dice(*laws::dice_words(20)), Fault::none, &decided) == 0);
  }));
  EXPECT_GT(decided, 50);
}

TEST(LeastIndexLaw, FindsThePlantedFault) {
  int found = 0, decided = 0;
  for (unsigned seed = 0; seed < 500; ++seed)
    found += wrong(laws::Dice(seed), Fault::least_index, &decided);
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace shardproof::algebra
