#pragma once
// Ranks on different processors compute with the same kernels.
#include "impl/comm/communicator.h"
#include "kernels/cpu/isa.h"

namespace shardproof::shard_train {

/// The lowest of the levels that the ranks give. Collective.
cpu::Isa lowest_isa(Communicator& communicator, cpu::Isa own);

}  // namespace shardproof::shard_train
