#pragma once
// Moves entries between strided arrays: transposes, slices, broadcasts, packing.
#include "kernels/element.h"
#include "kernels/nest.h"

namespace shardproof::cpu {

/// to = from over the nest (operand 0: to, 1: from); entries of `bytes` bytes: 1, 2, 4 or 8.
void copy(const Nest& nest, size_t bytes, void* to, const void* from);

/// `count` zeros of `bytes` bytes each: 0, 0.0 and false are all zero bits.
void zero(void* to, int64_t count, size_t bytes);

}  // namespace shardproof::cpu
