// Law: a program whose leaves got their names afterwards has the value of the program, and mostly
// its very normal form.
#include <gtest/gtest.h>

#include "spec/algebra/generator.h"

namespace shardproof::algebra {
namespace {

TEST(RenameLaw, NamesThatComeLaterChangeNothing) {
  const std::vector<std::string> leaves = {"x", "y", "pos", "ids", "wild", "any"};
  long compared = 0, same = 0;
  constexpr uint32_t programs = 1500;
  for (uint32_t seed = 0; seed < programs; ++seed) {
    const auto recipe = static_cast<Recipe>(seed % static_cast<uint32_t>(Recipe::count));
    const std::string found =
        mismatch(seed, recipe, seed % 3 == 0 ? 24 : 1, Fault::none, &compared, leaves, &same);
    ASSERT_EQ(found, "");
  }
  EXPECT_GT(compared, 3000);
  EXPECT_GT(same, programs * 19 / 20);
}

}  // namespace
}  // namespace shardproof::algebra
