#pragma once
// Buffers without a type.
#include <cstddef>
#include <cstring>

namespace shardproof {

inline std::byte* at_byte(void* base, size_t bytes) {
  return static_cast<std::byte*>(base) + bytes;
}
inline const std::byte* at_byte(const void* base, size_t bytes) {
  return static_cast<const std::byte*>(base) + bytes;
}

/// A null buffer has no bytes.
inline void copy_bytes(void* to, const void* from, size_t bytes) {
  if (bytes) std::memcpy(to, from, bytes);
}

}  // namespace shardproof
