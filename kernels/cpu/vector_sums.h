#pragma once
// Sums in double of floats in memory, compiled for each instruction level.
#include "kernels/cpu/isa.h"
#include "kernels/element.h"

namespace shardproof::cpu {

/// Every level adds in the same order, so the bits are the same.
struct VectorSums {
  /// n contiguous entries in double. Returns false for other elements than f32 and bf16.
  bool (*load)(double* to, Element element, const void* from, int64_t first, int64_t n);
  /// sum[i] += x[i]
  void (*add)(double* sum, const double* x, int64_t n);
  /// The sum of each 8th entry, in 8 lanes; what is left goes to lane 0.
  void (*add_in_lanes)(double* lanes, const double* x, int64_t n);
};

/// The functions of this level, which the processor must support; null for `baseline`.
const VectorSums* vector_sums(Isa isa);

}  // namespace shardproof::cpu
