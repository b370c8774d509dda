#pragma once
// bfloat16 in memory: the upper half of an f32.
#ifndef __CUDACC_RTC__
#include <string.h>

#include <cstdint>
#endif

#include "kernels/machine.h"

namespace shardproof {

/// Exact.
SHARDPROOF_HD inline float bf16_to_f32(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/// Rounds to nearest, ties to even; NaN stays NaN.
SHARDPROOF_HD inline uint16_t f32_to_bf16(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint16_t own;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(own) : "f"(value));
  return own;
#else
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>(value == value ? rounded : (bits >> 16) | 0x40);
#endif
}

}  // namespace shardproof
