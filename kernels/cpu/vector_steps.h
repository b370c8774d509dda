#pragma once
// Steps of fused pointwise ops on blocks of f32, compiled for each level of instructions.
#include "kernels/cpu/block.h"
#include "kernels/cpu/isa.h"
#include "kernels/ops.h"

namespace shardproof::cpu {

/// Errors, as vector_steps_test.cc checks: add, sub, mul, div, sqrt, comparisons, conversions are
/// exact or rounded once, so of the same bits at every level; exp is within 2 ulp, rsqrt 1.5, tanh
/// 4. A NaN stays.
struct VectorSteps {
  /// Entries 0 .. n-1 of `to`, n <= block_size; later entries may change. False if there is
  /// no such step.
  bool (*step)(const PointwiseStep& step, const Block<float>* const* arguments, Block<float>& to,
               int64_t n);
  /// bf16 that are neighbours in memory.
  void (*load_bf16)(float* to, const uint16_t* from, int64_t n);
  void (*store_bf16)(uint16_t* to, const float* from, int64_t n);
};

/// The functions of this level, which the processor must have; null for `baseline`.
const VectorSteps* vector_steps(Isa isa);

}  // namespace shardproof::cpu
