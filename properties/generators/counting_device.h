#pragma once
#include <atomic>

#include "impl/device/forwarding.h"

namespace shardproof::properties {

/// Another device, that counts the bytes it has given away.
class CountingDevice : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  size_t most() const { return most_; }

  Buffer allocate(size_t bytes) override {
    const size_t taken = *now_ += bytes;
    for (size_t most = most_; most < taken && !most_.compare_exchange_weak(most, taken);) continue;
    auto memory = std::make_shared<Buffer>(inner().allocate(bytes));
    return Buffer(bytes, memory->data(),
                  [memory, bytes, now = now_](std::byte*) { *now -= bytes; });
  }

 private:
  std::shared_ptr<std::atomic<size_t>> now_ = std::make_shared<std::atomic<size_t>>(0);
  std::atomic<size_t> most_ = 0;
};

}  // namespace shardproof::properties
