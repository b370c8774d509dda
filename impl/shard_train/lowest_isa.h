#pragma once
// Makes ranks on different processors use the same kernels.
#include "impl/comm/communicator.h"
#include "kernels/cpu/isa.h"

namespace shardproof::shard_train {

/// The lowest level among all ranks. Collective.
cpu::Isa lowest_isa(Communicator& communicator, cpu::Isa own);

}  // namespace shardproof::shard_train
