// Groups are made together where they have no rank in common.
#include "impl/comm/splits.h"

#include <gtest/gtest.h>

namespace shardproof {
namespace {

TEST(Splits, TakeTheGroupsOfAnAxisTogether) {
  const std::vector<std::vector<int>> rows{{0, 1}, {2, 3}, {4, 5}}, columns{{0, 2, 4}, {1, 3, 5}};
  std::vector<std::vector<int>> all{{0}, {1, 0}};
  for (const auto* groups : {&rows, &columns, &rows})
    all.insert(all.end(), groups->begin(), groups->end());
  const std::vector<Split> splits = splits_of(all);
  ASSERT_EQ(splits.size(), 3u);
  EXPECT_EQ(splits[0], (Split{{1, 0}, {2, 3}, {4, 5}}));
  EXPECT_EQ(splits[1], (Split{{0, 1}}));
  EXPECT_EQ(splits[2], columns);
}

TEST(Splits, SeatARankByTheLeastRankAndItsPosition) {
  const Split split{{4, 1, 3}, {2, 0}};
  EXPECT_EQ(seat_in(split, 3)->colour, 1);
  EXPECT_EQ(seat_in(split, 3)->key, 2);
  EXPECT_EQ(seat_in(split, 2)->colour, 0);
  EXPECT_EQ(seat_in(split, 2)->key, 0);
  EXPECT_FALSE(seat_in(split, 5));
}

/// Every member of a group has the same colour, no other rank has, and the keys are the order.
TEST(Splits, GiveEachGroupOfAMeshItsOwnColour) {
  std::vector<std::vector<int>> groups;  // of a mesh of 2 x 3 x 4, along axes 0 and 2, backwards
  for (int b = 0; b < 3; ++b) {
    groups.emplace_back();
    for (int c = 3; c >= 0; --c)
      for (int a = 0; a < 2; ++a) groups.back().push_back(a * 12 + b * 4 + c);
  }
  const std::vector<Split> splits = splits_of(groups);
  ASSERT_EQ(splits.size(), 1u);
  for (int b = 0; b < 3; ++b)
    for (size_t i = 0; i < groups[b].size(); ++i) {
      const auto seat = seat_in(splits[0], groups[b][i]);
      EXPECT_EQ(seat->colour, b * 4);
      EXPECT_EQ(seat->key, static_cast<int>(i));
    }
}

}  // namespace
}  // namespace shardproof
