#pragma once
// Steps of fused pointwise ops on blocks of f32, compiled for each instruction level.
#include "kernels/cpu/block.h"
#include "kernels/cpu/isa.h"
#include "kernels/ops.h"

namespace shardproof::cpu {

/// Error bounds, tested by vector_steps_test.cc. add, sub, mul, div, sqrt, comparisons and
/// conversions are exact or rounded once, so they give the same bits at every level. exp is within
/// 2 ulp, rsqrt 1.5, tanh 4. NaN stays NaN.
struct VectorSteps {
  /// Computes entries 0 .. n-1 of `to`, n <= block_size; may overwrite later entries. Returns false
  /// if the step is not supported.
  bool (*step)(const PointwiseStep& step, const Block<float>* const* arguments, Block<float>& to,
               int64_t n);
  /// Converts contiguous bf16.
  void (*load_bf16)(float* to, const uint16_t* from, int64_t n);
  void (*store_bf16)(uint16_t* to, const float* from, int64_t n);
};

/// The functions of this level, which the processor must support; null for `baseline`.
const VectorSteps* vector_steps(Isa isa);

}  // namespace shardproof::cpu
