#pragma once
// What was asked of the NCCL that is none.

namespace shardproof::rehearsal {

struct NcclCounts {
  int calls = 0;  ///< collectives, splits and grouped sends, of each member
  int made = 0, splits = 0, destroyed = 0, aborted = 0;
};

/// What this thread makes while it records is refused, as NCCL does.
void set_recording(bool on);

/// In this process, so far.
NcclCounts nccl_counts();

}  // namespace shardproof::rehearsal
