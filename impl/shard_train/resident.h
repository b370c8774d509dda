#pragma once
// The resident memory of this process, as the operating system counts it.
#include <cstddef>

namespace shardproof::shard_train {

/// Bytes now; 0 where the system does not report them.
size_t resident_bytes();
/// The most so far.
size_t peak_resident_bytes();
/// Gives freed memory back to the system, where the C library can.
void release_freed_memory();

}  // namespace shardproof::shard_train
