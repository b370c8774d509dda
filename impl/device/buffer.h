#pragma once
// Memory of a device.
#include <cstddef>
#include <functional>
#include <memory>

namespace shardproof {

/// Device memory, aligned to 64 bytes, not initialised.
class Buffer {
 public:
  Buffer() = default;
  /// Host memory; that of a large buffer is in large pages, where the system has them.
  explicit Buffer(size_t bytes);
  /// Memory that a device allocated, and the function to free it.
  Buffer(size_t bytes, std::byte* data, std::function<void(std::byte*)> free)
      : bytes_(bytes), data_(data, std::move(free)) {}
  std::byte* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
  std::unique_ptr<std::byte, std::function<void(std::byte*)>> data_;
};

}  // namespace shardproof
