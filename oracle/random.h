#pragma once
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC 2011).
#include <array>
#include <cstdint>
#include <string>

namespace shardproof::oracle {

using Words = std::array<uint32_t, 4>;

/// The block of four words for a counter, under a key.
Words philox(Words counter, std::array<uint32_t, 2> key);
/// The same with the counter (low, high) and the key as numbers of 64 bits, low words first.
Words philox(uint64_t low, uint64_t high, uint64_t key);

double uniform_entry(uint64_t key, uint64_t index);  ///< in [0, 1), of 24 bits
double normal_entry(uint64_t key, uint64_t index);   ///< rounded to f32
uint64_t folded(uint64_t key, int64_t n);
uint64_t folded(uint64_t key, const std::string& tag);
uint64_t fnv1a(const std::string& text);

}  // namespace shardproof::oracle
