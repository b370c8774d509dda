#pragma once
// The random numbers of the notation: Philox4x32-10 (Salmon et al., 2011), a function of a 64-bit
// key and a 128-bit counter.
#include <array>
#include <cstdint>
#include <string>

namespace shardproof::denote {

using Words = std::array<uint32_t, 4>;

/// The four output words for a counter (low, high) under the key.
Words philox(uint64_t key, uint64_t low, uint64_t high);

/// f32 in [0, 1): the upper 24 bits of word i mod 4 of counter (i div 4, 0).
double philox_uniform(uint64_t key, uint64_t index);
/// f32: Box-Muller in double on words 0 and 1 of counter (i, 1), cosine branch, rounded once.
double philox_normal(uint64_t key, uint64_t index);
/// Words 0 and 1 of counter (n, 2).
uint64_t philox_fold(uint64_t key, uint64_t n);
/// Words 0 and 1 of counter (FNV-1a of the tag, 3).
uint64_t philox_fold(uint64_t key, const std::string& tag);

uint64_t fnv1a(const std::string& text);
/// A fixed permutation of 64-bit integers, for scalars without real functions.
uint64_t scramble(uint64_t x);

}  // namespace shardproof::denote
