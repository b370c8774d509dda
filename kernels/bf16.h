#pragma once
// bfloat16: the upper half of an f32.
#include <bit>
#include <cmath>
#include <cstdint>

namespace shardproof {

struct Bf16 {
  uint16_t bits;
};

inline float to_float(Bf16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }

/// To the nearest, ties to even; a NaN stays one.
inline Bf16 to_bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return {static_cast<uint16_t>((bits >> 16) | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

}  // namespace shardproof
