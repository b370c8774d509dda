#pragma once
// Counts the calls to the emulated NCCL.
#include <functional>

namespace shardproof::emulated {

struct NcclCounts {
  int calls = 0;  ///< collectives, splits and grouped sends, per member
  int made = 0, splits = 0, destroyed = 0, aborted = 0;
};

/// Records this thread's calls instead of running them; creating a communicator is an error.
void begin_recording();
/// Returns a function that runs the recorded calls until they are done or their communicator is
/// aborted.
std::function<void()> end_recording();

/// For this process, so far.
NcclCounts nccl_counts();

}  // namespace shardproof::emulated
