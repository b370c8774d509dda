#include "spec/cli/suggest.h"

#include <gtest/gtest.h>

namespace shardproof::cli {
namespace {

TEST(Suggest, TheNearestName) {
  EXPECT_EQ(nearest("batch", {"patch", "M"}), "patch");
  EXPECT_EQ(nearest("D", {"t", "d"}), "d");
  EXPECT_EQ(nearest("q", {"d", "t"}), std::nullopt) << "one letter replaced is another name";
  EXPECT_EQ(nearest("heads", {"M", "F"}), std::nullopt);
}

}  // namespace
}  // namespace shardproof::cli
