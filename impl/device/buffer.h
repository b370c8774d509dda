#pragma once
// Memory of a device.
#include <sys/mman.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <new>

namespace shardproof {

/// Device memory, aligned to 64 bytes, not initialised.
class Buffer {
 public:
  Buffer() = default;
  /// Host memory. That of a large buffer lies in large pages, where the system has them.
  explicit Buffer(size_t bytes) : bytes_(bytes) {
    const bool large = bytes >= 2 * large_page;
    const std::align_val_t alignment{large ? large_page : 64};
    data_ = {static_cast<std::byte*>(::operator new(bytes + 64, alignment)),
             [alignment](std::byte* data) { ::operator delete(data, alignment); }};
#ifdef MADV_HUGEPAGE
    // Whole pages alone: no memory is taken that was not asked for. If it fails, pages are small.
    if (large) madvise(data_.get(), bytes / large_page * large_page, MADV_HUGEPAGE);
#endif
  }
  /// Memory that a device allocated, and the function to free it.
  Buffer(size_t bytes, std::byte* data, std::function<void(std::byte*)> free)
      : bytes_(bytes), data_(data, std::move(free)) {}
  std::byte* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t large_page = size_t{2} << 20;
  size_t bytes_ = 0;
  std::unique_ptr<std::byte, std::function<void(std::byte*)>> data_;
};

}  // namespace shardproof
