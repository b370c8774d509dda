#pragma once
// bfloat16 as it lies in memory: the upper half of an f32.
#include <cstdint>
#include <cstring>

namespace shardproof {

/// Exact.
inline float bf16_to_f32(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// Rounds to nearest, ties to even; NaN stays NaN.
inline uint16_t f32_to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>(value == value ? rounded : (bits >> 16) | 0x40);
}

}  // namespace shardproof
