#pragma once
// Processes of MPI: detects the launcher, and starts them.
#include <string>
#include <vector>

#include "impl/shard_train/options.h"

namespace shardproof::shard_train {

/// How this process was started.
enum class Launched { no, by_us, by_others };
Launched launched();
/// Whether rank 0's output goes to a terminal: its own stdout, or that of the process that started
/// it.
bool on_terminal();

/// Runs `mpirun` on this program with the same arguments and `ranks` ranks. If ranks die, restarts
/// from the last checkpoint as often as the options allow. Returns the exit code.
int launch(const std::vector<std::string>& args, const Options& options, int64_t ranks);

}  // namespace shardproof::shard_train
