#pragma once
// Loads and stores several entries of an array at once, up to 16 bytes per access.
#ifndef __CUDACC_RTC__
#include <cmath>
#include <cstdint>
#endif

#include "kernels/bf16.h"
#include "kernels/machine.h"

namespace shardproof::SHARDPROOF_MACHINE {

struct Bfloat16 {
  uint16_t bits;
};

SHARDPROOF_HD inline float widen(float x) { return x; }
SHARDPROOF_HD inline float widen(Bfloat16 x) { return bf16_to_f32(x.bits); }

/// Rounds to nearest, ties to even.
template <class E>
SHARDPROOF_HD E narrow(float x);
template <>
SHARDPROOF_HD inline float narrow<float>(float x) {
  return x;
}
template <>
SHARDPROOF_HD inline Bfloat16 narrow<Bfloat16>(float x) {
  return {f32_to_bf16(x)};
}

SHARDPROOF_DEVICE inline float inverse_root(float x) {
#ifdef SHARDPROOF_ON_GPU
  return rsqrtf(x);
#else
  return 1 / std::sqrt(x);
#endif
}

constexpr size_t widest_access = 16;

/// n adjacent entries, aligned to their size or to 16 bytes.
template <class E, int n>
struct alignas(sizeof(E) * n < widest_access ? sizeof(E) * n : widest_access) Entries {
  E at[n];
};

template <class T, int n>
struct Several {
  T at[n];
};
template <int n>
using Floats = Several<float, n>;

template <int n, class E>
SHARDPROOF_DEVICE Floats<n> load(const E* from) {
  const auto entries = *reinterpret_cast<const Entries<E, n>*>(from);
  Floats<n> floats;
  for (int i = 0; i < n; ++i) floats.at[i] = widen(entries.at[i]);
  return floats;
}

template <class E, int n>
SHARDPROOF_DEVICE void store(E* to, const Floats<n>& floats) {
  Entries<E, n> entries;
  for (int i = 0; i < n; ++i) entries.at[i] = narrow<E>(floats.at[i]);
  *reinterpret_cast<Entries<E, n>*>(to) = entries;
}

/// A scalar in a kernel: a constant, or an address.
struct Given {
  float value = 0;
  const float* at = nullptr;
  SHARDPROOF_DEVICE float get() const { return at ? *at : value; }
};

}  // namespace shardproof::SHARDPROOF_MACHINE
