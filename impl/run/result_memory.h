#pragma once
// Reuses the memory of results that the caller has freed.
#include <memory>

#include "impl/device/buffer.h"

namespace shardproof {

/// The operating system clears each new page, which can cost as much as the optimizer: so the new
/// state of a step reuses the memory of an old one. Its buffers may outlive it; any thread may free
/// them.
class ResultMemory {
 public:
  /// Keeps at most `most` unused bytes.
  explicit ResultMemory(size_t most);
  /// Not initialised. No other buffer uses this memory until it is freed.
  Buffer take(size_t bytes);
  /// The number of unused bytes.
  size_t kept() const;

 private:
  struct Free;
  std::shared_ptr<Free> free_;
};

}  // namespace shardproof
