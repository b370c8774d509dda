#pragma once
// A training run on one rank; rank 0 reports.
#include <ostream>

#include "impl/shard_train/job.h"

namespace shardproof::shard_train {

/// How rank 0 may print.
struct Screen {
  std::ostream& out;
  bool terminal = false, colour = false;
};

/// Trains from the first step, or from the last checkpoint, to the last step or the one in which
/// SIGINT or SIGTERM arrived; then it returns that signal, else 0. Collective. Throws errors that
/// end the run.
int run_job(const Job& job, Communicator& communicator, const Screen& screen);

}  // namespace shardproof::shard_train
