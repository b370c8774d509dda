#pragma once
// A loop nest as a kernel argument, and the offsets of its operands at one step.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/machine.h"
#include "kernels/nest.h"

namespace shardproof::SHARDPROOF_MACHINE {

constexpr int most_loops = 8;

/// Division of a number below 2^31 by one in 1 .. 2^31 - 1: a multiplication and a shift (Granlund,
/// Montgomery, PLDI 1994).
struct Divisor {
  uint32_t divisor = 1, multiplier = 1, shift = 0;

  SHARDPROOF_HD uint32_t quotient(uint32_t n) const {
    return (static_cast<uint32_t>(uint64_t{n} * multiplier >> 32) + n) >> shift;
  }
};

inline Divisor divisor_of(uint32_t divisor) {
  uint32_t shift = 0;
  while ((uint64_t{1} << shift) < divisor) ++shift;
  const uint64_t excess = (uint64_t{1} << shift) - divisor;
  return {divisor, static_cast<uint32_t>((excess << 32) / divisor + 1), shift};
}

/// A nest over `operands` arrays.
template <int operands>
struct Loops {
  int64_t count = 1;
  int32_t loops = 0;
  bool narrow = true;  ///< count < 2^31
  Divisor divisors[most_loops];
  int64_t extents[most_loops] = {};
  int64_t strides[most_loops][operands] = {};

  /// Sets offsets[k], the offset of operand k at step `at` of 0 .. count - 1, for the first `used`
  /// operands.
  SHARDPROOF_HD void find(int64_t at, int64_t* offsets, int used = operands) const {
    for (int k = 0; k < used; ++k) offsets[k] = 0;
    for (int d = loops - 1; d >= 0; --d) {
      int64_t rest = 0;
      if (d > 0)
        rest = narrow ? static_cast<int64_t>(divisors[d].quotient(static_cast<uint32_t>(at)))
                      : at / extents[d];
      const int64_t index = at - rest * extents[d];
      for (int k = 0; k < used; ++k) offsets[k] += index * strides[d][k];
      at = rest;
    }
  }
  SHARDPROOF_HD int64_t first_at(int64_t at) const {
    int64_t offset;
    find(at, &offset, 1);
    return offset;
  }
};

/// Throws std::length_error if there are more loops than a kernel argument holds.
template <int operands>
Loops<operands> loops_of(const Nest& given) {
  const Nest nest = coalesced(given);
  if (nest.extents.size() > most_loops)
    throw std::length_error("a nest of " + std::to_string(nest.extents.size()) +
                            " loops: kernels have at most " + std::to_string(most_loops));
  if (nest.strides.size() > operands)
    throw std::length_error("an op of " + std::to_string(nest.strides.size()) +
                            " operands: its kernel has at most " + std::to_string(operands));
  Loops<operands> result;
  result.count = nest.count();
  result.loops = static_cast<int32_t>(nest.extents.size());
  result.narrow = result.count <= INT32_MAX;
  for (size_t d = 0; result.count > 0 && d < nest.extents.size(); ++d) {
    result.extents[d] = nest.extents[d];
    if (result.narrow) result.divisors[d] = divisor_of(static_cast<uint32_t>(nest.extents[d]));
    for (size_t k = 0; k < nest.strides.size(); ++k) result.strides[d][k] = nest.strides[k][d];
  }
  return result;
}

}  // namespace shardproof::SHARDPROOF_MACHINE
