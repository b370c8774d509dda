#pragma once
// Ranks on one machine divide its cores.
#include "impl/comm/communicator.h"

namespace shardproof::shard_train {

/// The cores that this process may use; at least 1.
int own_cores();
/// Threads for a rank of this process, one of `ranks` in it; at least 1.
int share_of_cores(int cores, int ranks);
/// Collective, one rank per process: the share of a rank where others may use the same cores.
int share_among_processes(Communicator& communicator);

}  // namespace shardproof::shard_train
