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

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define SHARDPROOF_ROUNDS_PAIRS
/// `value` in bf16 in the upper half of a word, above 0. The instruction for a pair is faster than
/// that for one value: on an H200 gated units of many roundings took 1.4 times as long with the
/// latter.
SHARDPROOF_HD inline uint32_t bf16_above_0(float value) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(value), "f"(0.0f));
  return pair;
}
#endif

/// Rounds to nearest, ties to even; NaN stays NaN.
SHARDPROOF_HD inline uint16_t f32_to_bf16(float value) {
#ifdef SHARDPROOF_ROUNDS_PAIRS
  return static_cast<uint16_t>(bf16_above_0(value) >> 16);
#else
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>(value == value ? rounded : (bits >> 16) | 0x40);
#endif
}

/// bf16_to_f32(f32_to_bf16(value)).
SHARDPROOF_HD inline float rounded_to_bf16(float value) {
#ifdef SHARDPROOF_ROUNDS_PAIRS
  const uint32_t bits = bf16_above_0(value);
  memcpy(&value, &bits, sizeof value);
  return value;
#else
  return bf16_to_f32(f32_to_bf16(value));
#endif
}

}  // namespace shardproof
