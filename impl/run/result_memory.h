#pragma once
// Memory of results that the caller has dropped, for the next run of the plan.
#include <memory>

#include "impl/device/buffer.h"

namespace shardproof {

/// The system clears each page that it gives to a process, which costs a training step as much as
/// its optimizer: the new state of a step takes the memory of an old one. May outlive its buffers,
/// and they may outlive it; any thread may drop them.
class ResultMemory {
 public:
  /// Keeps at most `most` bytes that are not in use.
  explicit ResultMemory(size_t most);
  /// Not initialised. No other buffer has this memory before it is dropped.
  Buffer take(size_t bytes);
  /// Bytes that are not in use.
  size_t kept() const;

 private:
  struct Free;
  std::shared_ptr<Free> free_;
};

}  // namespace shardproof
