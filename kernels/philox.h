#pragma once
// The random numbers of the notation: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011). An entry
// depends only on the key and its global index, on every mesh and device.
#ifndef __CUDACC_RTC__  // NVRTC has none of these
#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/fnv1a.h"
#endif

#include "kernels/machine.h"

namespace shardproof {

struct PhiloxWords {
  uint32_t word[4];
};

/// The output words for the 128-bit counter (low, high) under the key.
SHARDPROOF_HD inline PhiloxWords philox(uint64_t key, uint64_t low, uint64_t high) {
  uint32_t c0 = static_cast<uint32_t>(low), c1 = static_cast<uint32_t>(low >> 32),
           c2 = static_cast<uint32_t>(high), c3 = static_cast<uint32_t>(high >> 32);
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xD2511F53ull * c0, b = 0xCD9E8D57ull * c2;
    c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(b);
    c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(a);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// A number in [0, 1): the upper 24 bits of a word.
SHARDPROOF_HD inline float philox_uniform_of(uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}
/// From word index % 4 of counter (index / 4, 0).
SHARDPROOF_HD inline float philox_uniform(uint64_t key, uint64_t index) {
  return philox_uniform_of(philox(key, index / 4, 0).word[index % 4]);
}

#ifndef __CUDACC_RTC__
/// Box-Muller on words 0 and 1 of counter (index, 1), cosine branch, rounded once to f32.
SHARDPROOF_HD inline float philox_normal(uint64_t key, uint64_t index) {
  const PhiloxWords words = philox(key, index, 1);
  const double u = (words.word[0] + 0.5) * 0x1p-32, v = (words.word[1] + 0.5) * 0x1p-32;
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * v));
}
#endif

SHARDPROOF_HD inline uint64_t philox_key(const PhiloxWords& words) {
  return words.word[0] | static_cast<uint64_t>(words.word[1]) << 32;
}
/// The key for number n: words 0 and 1 of counter (n, 2).
SHARDPROOF_HD inline uint64_t philox_fold(uint64_t key, uint64_t n) {
  return philox_key(philox(key, n, 2));
}
/// The key for a tag whose FNV-1a is `hash`: words 0 and 1 of counter (hash, 3).
SHARDPROOF_HD inline uint64_t philox_fold_tag(uint64_t key, uint64_t hash) {
  return philox_key(philox(key, hash, 3));
}
#ifndef __CUDACC_RTC__
inline uint64_t philox_fold(uint64_t key, const std::string& tag) {
  return philox_fold_tag(key, fnv1a(tag));
}
#endif

}  // namespace shardproof
