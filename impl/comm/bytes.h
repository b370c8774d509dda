#pragma once
// Buffers of which only the size is known.
#include <cstddef>
#include <cstring>

namespace shardproof {

inline std::byte* at_byte(void* base, size_t bytes) {
  return static_cast<std::byte*>(base) + bytes;
}
inline const std::byte* at_byte(const void* base, size_t bytes) {
  return static_cast<const std::byte*>(base) + bytes;
}

/// Null is a buffer of nothing.
inline void copy_bytes(void* to, const void* from, size_t bytes) {
  if (bytes) std::memcpy(to, from, bytes);
}

}  // namespace shardproof
