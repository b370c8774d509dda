#include "impl/run/result_memory.h"

#include <map>
#include <mutex>

namespace shardproof {
namespace {

constexpr size_t least = size_t{1} << 18;  ///< smaller ones are cheap to allocate

}  // namespace

struct ResultMemory::Free {
  std::mutex mutex;
  std::multimap<size_t, Buffer> buffers;  ///< by size in bytes
  size_t bytes = 0, most = 0;
};

ResultMemory::ResultMemory(size_t most) : free_(std::make_shared<Free>()) { free_->most = most; }

size_t ResultMemory::kept() const {
  const std::lock_guard lock(free_->mutex);
  return free_->bytes;
}

Buffer ResultMemory::take(size_t bytes) {
  if (bytes < least) return Buffer(bytes);
  Buffer memory;
  {
    const std::lock_guard lock(free_->mutex);
    if (const auto found = free_->buffers.find(bytes); found != free_->buffers.end()) {
      memory = std::move(found->second);
      free_->buffers.erase(found);
      free_->bytes -= bytes;
    }
  }
  if (!memory.data()) memory = Buffer(bytes);
  std::byte* const data = memory.data();
  // std::function copies its deleter, so the buffer is shared.
  auto own = std::make_shared<Buffer>(std::move(memory));
  return Buffer(bytes, data, [own, free = std::weak_ptr<Free>(free_)](std::byte*) {
    const std::shared_ptr<Free> to = free.lock();
    if (!to) return;
    const std::lock_guard lock(to->mutex);
    if (to->bytes + own->bytes() > to->most) return;
    to->bytes += own->bytes();
    to->buffers.emplace(own->bytes(), std::move(*own));
  });
}

}  // namespace shardproof
