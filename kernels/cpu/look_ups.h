#pragma once
// A part of a fused chain that reads one bf16 input alone has 2^16 results: they are computed once
// and looked up, where that takes less time than the part for every entry. The gelu of an entry is
// ten steps, each with a rounding.
#include <optional>
#include <string>
#include <vector>

#include "kernels/ops.h"

namespace shardproof::cpu {

/// The entries of an input stand for others: entry i is table[bits of the entry i in memory].
struct LookedUp {
  size_t from = 0;  ///< which input of the chain is in memory
  Pointwise part;   ///< makes the table in f32, of all bf16 by their bits; none without steps
};

struct LookUps {
  Pointwise rest;                ///< the chain, with parts replaced by inputs
  std::vector<LookedUp> inputs;  ///< by input of `rest`
};

/// None if no part of the chain takes longer than a look-up.
std::optional<LookUps> look_ups(const Pointwise& chain);

constexpr int64_t table_size = int64_t{1} << 16;

/// The part's table at the level isa(), kept for the life of the process: equal parts share it.
/// Null once 64 others are kept. Thread-safe.
const float* kept_table(const Pointwise& part);

/// Equal for equal steps alone.
std::string key_of_steps(const std::vector<PointwiseStep>& steps);
/// Appends a word to a key.
void put(std::string& key, uint64_t word);

}  // namespace shardproof::cpu
