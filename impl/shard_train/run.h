#pragma once
// A training run on one rank, told by rank 0.
#include <ostream>

#include "impl/shard_train/job.h"

namespace shardproof::shard_train {

/// How rank 0 may write.
struct Screen {
  std::ostream& out;
  bool terminal = false, colour = false;
};

/// Trains from the first step, or the last checkpoint, to the last step. Collective. Throws what
/// ends the run.
void run_job(const Job& job, Communicator& communicator, const Screen& screen);

}  // namespace shardproof::shard_train
