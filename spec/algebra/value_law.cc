// Law: the value of the normal form is the value of the program, for every recipe and level.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "spec/algebra/generator.h"

namespace shardproof::algebra {
namespace {

struct ValueLaw : testing::TestWithParam<int> {};

TEST_P(ValueLaw, NormalFormHasTheValueOfTheProgram) {
  auto recipe = static_cast<Recipe>(GetParam());
  long compared = 0;
  EXPECT_TRUE(rc::check("value of NF == value of program", [&] {
    for (int i = 0; i < 10; ++i) {
      auto seed =
          *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<uint32_t>()));
      int limit = *rc::gen::element(1, 1, 24);
      std::string found = mismatch(seed, recipe, limit, Fault::none, &compared);
      if (!found.empty()) RC_FAIL(found);
    }
  }));
  EXPECT_GT(compared, 300);
}

INSTANTIATE_TEST_SUITE_P(Recipes, ValueLaw, testing::Range(0, static_cast<int>(Recipe::count)));

}  // namespace
}  // namespace shardproof::algebra
