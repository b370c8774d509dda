#include "oracle/sides.h"

#include "oracle/testing.h"

namespace shardproof::oracle {
namespace sides_test {

struct Seen {
  size_t taken = 0;
  bool open = false;
};

/// After f(a, b) of scalars for each pair.
Seen after(const std::string& expression, const std::vector<std::pair<double, double>>& pairs) {
  const auto loaded = load_text("fn f(a b: f32[]) -> f32[] { return " + expression + " }");
  const Sides sides;
  for (const auto& [a, b] : pairs)
    evaluate(loaded->program(), loaded->find("f"), {}, {scalar(a), scalar(b)});
  return {sides.taken(), sides.one_is_open()};
}

TEST(Sides, a_condition_is_open_until_it_has_taken_both) {
  const std::string text = "where(a > b, a, 0)";
  EXPECT_EQ(after(text, {{2, 1}}).taken, 1);
  EXPECT_TRUE(after(text, {{2, 1}, {3, 1}}).open);
  EXPECT_TRUE(after(text, {{1, 2}}).open);
  EXPECT_EQ(after(text, {{2, 1}, {1, 2}}).taken, 2);
  EXPECT_FALSE(after(text, {{2, 1}, {1, 2}}).open);
}

TEST(Sides, equal_operands_are_a_side_and_no_other_is_searched_for_them_alone) {
  EXPECT_FALSE(after("where(a > a, a, 0)", {{2, 1}, {1, 2}}).open);
  EXPECT_FALSE(after("where(a >= a + 0 * b, a, 0)", {{2, 1}}).open);
  EXPECT_TRUE(after("where(a > b, a, 0)", {{1, 1}, {1, 2}}).open);
  EXPECT_FALSE(after("where(a >= b, a, 0)", {{1, 1}, {1, 2}}).open);
  EXPECT_EQ(after("where(a == b, a, 0)", {{1, 1}}).taken, 1);
}

TEST(Sides, a_maximum_takes_the_side_of_the_greater_operand) {
  EXPECT_EQ(after("maximum(a, b)", {{1, 1}}).taken, 0);
  EXPECT_FALSE(after("maximum(a, b)", {{1, 1}}).open);
  EXPECT_TRUE(after("maximum(a, b)", {{1, 1}, {1, 2}}).open);
  EXPECT_FALSE(after("maximum(a, b)", {{1, 2}, {2, 1}}).open);
  EXPECT_TRUE(after("minimum(a, b) + relu(a)", {{1, 2}, {2, 1}}).open);
}

}  // namespace sides_test
}  // namespace shardproof::oracle
