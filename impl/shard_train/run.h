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

/// Trains from the first step, or the last checkpoint, to the last step, or to the one in which
/// SIGINT or SIGTERM came: then returns that signal, else 0. Collective. Throws what ends the run.
int run_job(const Job& job, Communicator& communicator, const Screen& screen);

}  // namespace shardproof::shard_train
