// Red if ranks would use more threads than their machine has cores, or none.
#include "impl/shard_train/share.h"

#include <gtest/gtest.h>

#include <array>

#include "impl/comm/threads.h"

namespace shardproof::shard_train {
namespace {

TEST(Share, IsAtLeastOneThread) {
  EXPECT_EQ(share_of_cores(8, 2), 4);
  EXPECT_EQ(share_of_cores(8, 3), 2);
  EXPECT_EQ(share_of_cores(2, 5), 1);
  EXPECT_GE(own_cores(), 1);
}

TEST(Share, CountsTheRanksOfAMachine) {
  std::array<int, 3> shares{};
  run_on_threads(3, [&](Communicator& communicator) {
    shares.at(static_cast<size_t>(communicator.rank())) = share_among_processes(communicator);
  });
  for (int each : shares) EXPECT_EQ(each, share_of_cores(own_cores(), 3));
}

}  // namespace
}  // namespace shardproof::shard_train
