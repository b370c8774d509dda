#pragma once
// What was asked of the NCCL that is none.
#include <functional>

namespace shardproof::rehearsal {

struct NcclCounts {
  int calls = 0;  ///< collectives, splits and grouped sends, of each member
  int made = 0, splits = 0, destroyed = 0, aborted = 0;
};

/// What this thread asks of NCCL from here on is not done; making a communicator is refused.
void begin_recording();
/// Does what was recorded: returns when it is done, or its communicator aborted.
std::function<void()> end_recording();

/// In this process, so far.
NcclCounts nccl_counts();

}  // namespace shardproof::rehearsal
