#pragma once
// The steps of fused pointwise ops: fn::<name of the PointwiseFn> on registers R (float or double)
// or int64_t. The interpreter of pointwise.cu and the kernels of generate.h both call them; for the
// latter, NVRTC compiles this file.
#ifndef __CUDACC_RTC__
#include <math.h>
__extension__ using uint128_t = unsigned __int128;
#endif

#include "kernels/cuda/entry.h"
#include "kernels/cuda/report.h"
#include "kernels/philox.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace fn {

// Calls a function of the C library: f for doubles, ff for floats. The branch not taken may narrow.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wabsolute-value"
#endif
#define LIBM(name, ...)                                                \
  (sizeof(R) == sizeof(float) ? static_cast<R>(::name##f(__VA_ARGS__)) \
                              : static_cast<R>(::name(__VA_ARGS__)))

/// Sets by_zero and returns 0 if b is 0.
SHARDPROOF_HD inline int64_t floor_divided(int64_t a, int64_t b, bool& by_zero) {
  by_zero = by_zero || b == 0;
  if (b == 0) return 0;
  const int64_t q = a / b;
  return (a % b != 0) && ((a < 0) != (b < 0)) ? q - 1 : q;
}

// fn::exp(x) of a float, double or int64_t; fn::add(a, b) of reals; fn::add(a, b, by_zero) of
// integers; and so on, as in spec/ir/pointwise.def. Each is rounded separately: no fused
// multiply-add. Functions that are undefined for integers give 0.
template <class T>
struct Gives {
  using same = T;
  using truth = int64_t;
};
constexpr int64_t none = 0;
#define SHARDPROOF_UNARY(id, text, takes, gives, domain, least, roles, strict, bits, grows, value, \
                         integer_value, block, exact, algebra, pull)                               \
  template <class R>                                                                               \
  SHARDPROOF_HD inline typename Gives<R>::gives id(R x) {                                          \
    return value;                                                                                  \
  }                                                                                                \
  SHARDPROOF_HD inline int64_t id([[maybe_unused]] int64_t x) { return integer_value; }
#define SHARDPROOF_BINARY(id, text, binds, takes, gives, role_a, role_b, strict, bits, value, \
                          integer_value, exact, algebra, pull_a, pull_b)                      \
  template <class R>                                                                          \
  SHARDPROOF_HD inline typename Gives<R>::gives id(R a, R b) {                                \
    return value;                                                                             \
  }                                                                                           \
  SHARDPROOF_HD inline int64_t id([[maybe_unused]] int64_t a, [[maybe_unused]] int64_t b,     \
                                  [[maybe_unused]] bool& by_zero) {                           \
    return integer_value;                                                                     \
  }
#include "spec/ir/pointwise.def"
#undef LIBM
#ifdef __clang__
#pragma clang diagnostic pop
#endif

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
  return rounded_to_bf16(static_cast<float>(x));
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

/// What one access moves: one number, as nvcc stores a struct of small ones entry by entry.
template <size_t bytes>
struct Word {
  using type = uint8_t;
};
template <>
struct Word<16> {
  using type = uint128_t;
};
template <>
struct Word<8> {
  using type = uint64_t;
};
template <>
struct Word<4> {
  using type = uint32_t;
};
template <>
struct Word<2> {
  using type = uint16_t;
};

/// n adjacent entries, accessed in words of up to 16 bytes; `at` is a multiple of n.
template <class T, int n>
struct Neighbours {
  static constexpr int chunk = n * sizeof(T) <= 16 ? n : 16 / sizeof(T);
  using Words = typename Word<chunk * sizeof(T)>::type;
  T entries[n];

  SHARDPROOF_HD void load(const void* from, int64_t at) {
    const Words* words = words_at<Words>(static_cast<const T*>(from) + at);
    SHARDPROOF_UNROLL(8)
    for (int w = 0; w < n / chunk; ++w) {
      const Words word = words[w];
      memcpy(entries + w * chunk, &word, sizeof word);
    }
  }
  SHARDPROOF_HD void store(void* to, int64_t at) const {
    Words* words = words_at<Words>(static_cast<T*>(to) + at);
    SHARDPROOF_UNROLL(8)
    for (int w = 0; w < n / chunk; ++w) {
      Words word = 0;  // put together in registers: a copy of the array would go through memory
      SHARDPROOF_UNROLL(16)
      for (int i = 0; i < chunk; ++i) {
        typename Word<sizeof(T)>::type bits;
        memcpy(&bits, entries + w * chunk + i, sizeof bits);
        word |= static_cast<Words>(static_cast<Words>(bits) << (8 * sizeof(T) * i));
      }
      words[w] = word;
    }
  }
};

}  // namespace shardproof::SHARDPROOF_MACHINE

// Defines a generated kernel, and its loop over the items of its threads.
#ifdef SHARDPROOF_ON_GPU
#define SHARDPROOF_ENTRY extern "C" __global__ void __launch_bounds__(256)
#define SHARDPROOF_EACH_ITEM(item, count)                                                          \
  for (int64_t item = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; item < (count); \
       item += static_cast<int64_t>(gridDim.x) * blockDim.x)
#else
#define SHARDPROOF_ENTRY extern "C" void
#define SHARDPROOF_EACH_ITEM(item, count) for (int64_t item = 0; item < (count); ++item)
#endif
