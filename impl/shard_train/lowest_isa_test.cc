// Red if a rank keeps a level that another one lacks: its bits would be others.
#include "impl/shard_train/lowest_isa.h"

#include <gtest/gtest.h>

#include <array>

#include "impl/comm/threads.h"

namespace shardproof::shard_train {
namespace {

TEST(LowestIsa, IsTheSameOnAllRanks) {
  const std::array own{cpu::Isa::amx, cpu::Isa::v3, cpu::Isa::bf16, cpu::Isa::v4};
  std::array<cpu::Isa, 4> taken{};
  run_on_threads(4, [&](Communicator& communicator) {
    const auto rank = static_cast<size_t>(communicator.rank());
    taken[rank] = lowest_isa(communicator, own[rank]);
  });
  for (cpu::Isa each : taken) EXPECT_EQ(each, cpu::Isa::v3);
}

}  // namespace
}  // namespace shardproof::shard_train
