// Law: the value of the normal form is the value of the program, for every recipe and level.
#include <gtest/gtest.h>

#include "spec/algebra/drawn.h"

namespace shardproof::algebra {
namespace {

struct ValueLaw : testing::TestWithParam<int> {};

TEST_P(ValueLaw, NormalFormHasTheValueOfTheProgram) {
  auto recipe = static_cast<Recipe>(GetParam());
  long compared = 0;
  EXPECT_TRUE(laws::holds("the normal form has the value of the program", 1'000, 20'000, [&] {
    const Drawn program = *programs(recipe);
    const int limit = *rc::gen::element(1, 1, 24);
    const std::string found = mismatch(program, limit, Fault::none, &compared);
    if (!found.empty()) RC_FAIL(found);
  }));
  EXPECT_GT(compared, 300);
}

INSTANTIATE_TEST_SUITE_P(Recipes, ValueLaw, testing::Range(0, static_cast<int>(Recipe::count)));

}  // namespace
}  // namespace shardproof::algebra
