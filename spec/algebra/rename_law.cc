// Law: a program whose leaves got their names afterwards has the value of the program, and mostly
// its very normal form.
#include <gtest/gtest.h>

#include "spec/algebra/drawn.h"

namespace shardproof::algebra {
namespace {

TEST(RenameLaw, NamesThatComeLaterChangeNothing) {
  const std::vector<std::string> leaves = {"x", "y", "pos", "ids", "wild", "any", "n", "w"};
  long compared = 0, same = 0;
  long all = 0;
  EXPECT_TRUE(laws::holds("names that come later change nothing", 1'500, 20'000, [&] {
    const Drawn program = *programs();
    const int limit = *rc::gen::element(1, 1, 24);
    const std::string found = mismatch(program, limit, Fault::none, &compared, leaves, &same);
    ++all;
    if (!found.empty()) RC_FAIL(found);
  }));
  EXPECT_GT(compared, 3000);
  EXPECT_GT(same, all * 19 / 20);
}

}  // namespace
}  // namespace shardproof::algebra
