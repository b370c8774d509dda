#pragma once
// Processes of MPI: who started this one, and starting them.
#include <string>
#include <vector>

#include "impl/shard_train/options.h"

namespace shardproof::shard_train {

/// Who made this process.
enum class Launched { no, by_us, by_others };
Launched launched();
/// Whether what rank 0 writes ends on a terminal: this process's own output, or that of the process
/// which started it.
bool on_terminal();

/// Runs `mpirun` on this program with the same arguments and `ranks` ranks, and again from the last
/// checkpoint where ranks die, as often as the options say. Returns the exit code.
int launch(const std::vector<std::string>& args, const Options& options, int64_t ranks);

}  // namespace shardproof::shard_train
