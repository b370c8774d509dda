#pragma once
// What a step of a pointwise chain computes: fn::<name of the PointwiseFn>, on registers that are R
// (float or double) or int64_t. The interpreter of pointwise.cu and the kernels that generate.h
// writes both call them; for the second this text, and what it includes, goes to NVRTC.
#ifndef __CUDACC_RTC__
#include <math.h>
#endif

#include "kernels/cuda/entry.h"
#include "kernels/cuda/report.h"
#include "kernels/philox.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace fn {

SHARDPROOF_HD inline float exp(float x) { return ::expf(x); }
SHARDPROOF_HD inline double exp(double x) { return ::exp(x); }
SHARDPROOF_HD inline float log(float x) { return ::logf(x); }
SHARDPROOF_HD inline double log(double x) { return ::log(x); }
SHARDPROOF_HD inline float sqrt(float x) { return ::sqrtf(x); }
SHARDPROOF_HD inline double sqrt(double x) { return ::sqrt(x); }
SHARDPROOF_HD inline float rsqrt(float x) { return 1.0f / ::sqrtf(x); }
SHARDPROOF_HD inline double rsqrt(double x) { return 1.0 / ::sqrt(x); }
SHARDPROOF_HD inline float tanh(float x) { return ::tanhf(x); }
SHARDPROOF_HD inline double tanh(double x) { return ::tanh(x); }
SHARDPROOF_HD inline float erf(float x) { return ::erff(x); }
SHARDPROOF_HD inline double erf(double x) { return ::erf(x); }
SHARDPROOF_HD inline float sin(float x) { return ::sinf(x); }
SHARDPROOF_HD inline double sin(double x) { return ::sin(x); }
SHARDPROOF_HD inline float cos(float x) { return ::cosf(x); }
SHARDPROOF_HD inline double cos(double x) { return ::cos(x); }
SHARDPROOF_HD inline float abs(float x) { return ::fabsf(x); }
SHARDPROOF_HD inline double abs(double x) { return ::fabs(x); }
SHARDPROOF_HD inline float floor(float x) { return ::floorf(x); }
SHARDPROOF_HD inline double floor(double x) { return ::floor(x); }
SHARDPROOF_HD inline int64_t abs(int64_t x) { return x < 0 ? -x : x; }
SHARDPROOF_HD inline int64_t floor(int64_t x) { return x; }
SHARDPROOF_HD inline int64_t logical_not(int64_t x) { return x == 0; }

// Rounded one by one: no product is fused with a sum.
template <class T>
SHARDPROOF_HD inline T neg(T x) {
  return -x;
}
template <class T>
SHARDPROOF_HD inline T add(T a, T b) {
  return a + b;
}
template <class T>
SHARDPROOF_HD inline T sub(T a, T b) {
  return a - b;
}
template <class T>
SHARDPROOF_HD inline T mul(T a, T b) {
  return a * b;
}
template <class R>
SHARDPROOF_HD inline R div(R a, R b) {
  return a / b;
}
SHARDPROOF_HD inline float pow(float a, float b) { return ::powf(a, b); }
SHARDPROOF_HD inline double pow(double a, double b) { return ::pow(a, b); }

template <class R>
SHARDPROOF_HD inline R floordiv(R a, R b, bool&) {
  return floor(a / b);
}
template <class R>
SHARDPROOF_HD inline R mod(R a, R b, bool&) {
  return a - b * floor(a / b);
}
/// Sets by_zero, and is 0, where b is.
SHARDPROOF_HD inline int64_t floordiv(int64_t a, int64_t b, bool& by_zero) {
  by_zero = by_zero || b == 0;
  if (b == 0) return 0;
  const int64_t q = a / b;
  return (a % b != 0) && ((a < 0) != (b < 0)) ? q - 1 : q;
}
SHARDPROOF_HD inline int64_t mod(int64_t a, int64_t b, bool& by_zero) {
  return a - b * floordiv(a, b, by_zero);
}

template <class T>
SHARDPROOF_HD inline int64_t eq(T a, T b) {
  return a == b;
}
template <class T>
SHARDPROOF_HD inline int64_t ne(T a, T b) {
  return a != b;
}
template <class T>
SHARDPROOF_HD inline int64_t lt(T a, T b) {
  return a < b;
}
template <class T>
SHARDPROOF_HD inline int64_t gt(T a, T b) {
  return a > b;
}
template <class T>
SHARDPROOF_HD inline int64_t le(T a, T b) {
  return a <= b;
}
template <class T>
SHARDPROOF_HD inline int64_t ge(T a, T b) {
  return a >= b;
}
template <class T>
SHARDPROOF_HD inline int64_t logical_and(T a, T b) {
  return a != 0 && b != 0;
}
template <class T>
SHARDPROOF_HD inline int64_t logical_or(T a, T b) {
  return a != 0 || b != 0;
}
/// A NaN on either side stays.
template <class T>
SHARDPROOF_HD inline T maximum(T a, T b) {
  return a < b || b != b ? b : a;
}
template <class T>
SHARDPROOF_HD inline T minimum(T a, T b) {
  return b < a || b != b ? b : a;
}
template <class T>
SHARDPROOF_HD inline T where(int64_t c, T a, T b) {
  return c ? a : b;
}

template <class R>
SHARDPROOF_HD inline R to_real(int64_t x) {
  return static_cast<R>(x);
}
template <class R>
SHARDPROOF_HD inline int64_t to_integer(R x) {
  return static_cast<int64_t>(x);
}
template <class T>
SHARDPROOF_HD inline int64_t to_boolean(T x) {
  return x != 0;
}
template <class R>
SHARDPROOF_HD inline R round_f32(R x) {
  return static_cast<float>(x);
}
template <class R>
SHARDPROOF_HD inline R round_bf16(R x) {
  return bf16_to_f32(f32_to_bf16(static_cast<float>(x)));
}

SHARDPROOF_HD inline int64_t fold(int64_t key, int64_t n) {
  return static_cast<int64_t>(philox_fold(static_cast<uint64_t>(key), static_cast<uint64_t>(n)));
}
SHARDPROOF_HD inline int64_t fold_tag(int64_t key, uint64_t hash) {
  return static_cast<int64_t>(philox_fold_tag(static_cast<uint64_t>(key), hash));
}

}  // namespace fn

SHARDPROOF_HD inline double f64_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// n neighbours, read and written in words of up to 16 bytes: `at` is a multiple of n.
template <class T, int n>
struct Neighbours {
  static constexpr int chunk = n * sizeof(T) <= 16 ? n : 16 / sizeof(T);
  struct alignas(chunk * sizeof(T)) Word {
    T entries[chunk];
  };
  T entries[n];

  SHARDPROOF_HD void load(const void* from, int64_t at) {
    const Word* words = reinterpret_cast<const Word*>(static_cast<const T*>(from) + at);
    SHARDPROOF_UNROLL(8)
    for (int w = 0; w < n / chunk; ++w) {
      const Word word = words[w];
      SHARDPROOF_UNROLL(8)
      for (int i = 0; i < chunk; ++i) entries[w * chunk + i] = word.entries[i];
    }
  }
  SHARDPROOF_HD void store(void* to, int64_t at) const {
    Word* words = reinterpret_cast<Word*>(static_cast<T*>(to) + at);
    SHARDPROOF_UNROLL(8)
    for (int w = 0; w < n / chunk; ++w) {
      Word word;
      SHARDPROOF_UNROLL(8)
      for (int i = 0; i < chunk; ++i) word.entries[i] = entries[w * chunk + i];
      words[w] = word;
    }
  }
};

}  // namespace shardproof::SHARDPROOF_MACHINE

// A generated kernel, and its loop over the items that are shared out to its threads.
#ifdef SHARDPROOF_ON_GPU
#define SHARDPROOF_ENTRY extern "C" __global__ void __launch_bounds__(256)
#define SHARDPROOF_EACH_ITEM(item, count)                                                          \
  for (int64_t item = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; item < (count); \
       item += static_cast<int64_t>(gridDim.x) * blockDim.x)
#else
#define SHARDPROOF_ENTRY extern "C" void
#define SHARDPROOF_EACH_ITEM(item, count) for (int64_t item = 0; item < (count); ++item)
#endif
