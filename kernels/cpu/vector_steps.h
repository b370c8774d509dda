#pragma once
// Steps of chains on blocks of f32, compiled for each level of instructions.
#include "kernels/cpu/block.h"
#include "kernels/cpu/isa.h"
#include "kernels/ops.h"

namespace shardproof::cpu {

/// Errors, held by vector_steps_test.cc: add, sub, mul, div, sqrt, comparisons and conversions are
/// exact or rounded once, so of the same bits at every level; exp is within 2 ulp, rsqrt 1.5, tanh
/// 4. A NaN stays.
struct VectorSteps {
  /// Entries 0 .. n-1 of `to`, n <= block_size; entries behind them may change. False where it has
  /// no such step.
  bool (*step)(const PointwiseStep& step, const Block<float>* const* arguments, Block<float>& to,
               int64_t n);
  /// bf16 that are neighbours in memory.
  void (*load_bf16)(float* to, const uint16_t* from, int64_t n);
  void (*store_bf16)(uint16_t* to, const float* from, int64_t n);
};

/// Of this level; null where there are none, which is so for `baseline`. The processor has it.
const VectorSteps* vector_steps(Isa isa);

}  // namespace shardproof::cpu
