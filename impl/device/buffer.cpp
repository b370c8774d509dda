#include "impl/device/buffer.h"

#include <sys/mman.h>

#include <new>

namespace shardproof {
namespace {

constexpr size_t large_page = size_t{2} << 20;

}  // namespace

Buffer::Buffer(size_t bytes) : bytes_(bytes) {
  const std::align_val_t alignment{bytes < 2 * large_page ? 64 : large_page};
  data_ = {static_cast<std::byte*>(::operator new(bytes + 64, alignment)),
           [alignment](std::byte* data) { ::operator delete(data, alignment); }};
#ifdef MADV_HUGEPAGE
  // Whole pages alone, so that no memory is taken that is not asked for. If it fails, pages are
  // small.
  if (bytes >= 2 * large_page) madvise(data_.get(), bytes / large_page * large_page, MADV_HUGEPAGE);
#endif
}

}  // namespace shardproof
