#pragma once
// Steps of fused pointwise ops on blocks of f32, compiled for each instruction level.
#include "kernels/cpu/block.h"
#include "kernels/cpu/isa.h"
#include "kernels/ops.h"

namespace shardproof::cpu {

/// Rows of n contiguous entries; `stride` is between their first entries.
struct PackedRows {
  int64_t count, stride, n;
};

/// What is done with a result in the same pass. Narrow NaNs have no bits below those of a bf16:
/// the rounding needs no case for them.
enum class Rounding : uint8_t { none, bf16, bf16_of_narrow_nans };

/// Error bounds, tested by vector_steps_test.cc. add, sub, mul, div, sqrt, comparisons and
/// conversions are exact or rounded once, so they give the same bits at every level. exp is within
/// 2 ulp, rsqrt 1.5, tanh 6. NaN stays NaN.
struct VectorSteps {
  /// Computes entries 0 .. n-1 of `to`, n <= block_size; may overwrite later entries. `to` may be
  /// an argument. Returns false if the step is not supported.
  bool (*step)(const PointwiseStep& step, const Block<float>* const* arguments, Block<float>& to,
               int64_t n, Rounding rounding);
  /// 1 / (1 + exp(-x)), with the bits of its steps.
  void (*logistic)(const Block<float>& x, Block<float>& to, int64_t n, Rounding rounding);
  /// Packs rows of n entries, `stride` apart, and unpacks them.
  void (*load_rows_f32)(float* to, const float* from, const PackedRows& rows);
  void (*load_rows_bf16)(float* to, const uint16_t* from, const PackedRows& rows);
  /// Packs table[bits] for the entries of rows.
  void (*look_up_rows)(float* to, const float* table, const uint16_t* from, const PackedRows& rows);
  void (*store_rows_f32)(float* to, const float* from, const PackedRows& rows);
  void (*store_rows_bf16)(uint16_t* to, const float* from, const PackedRows& rows);
};

/// The functions of this level, which the processor must support; null for `baseline`.
const VectorSteps* vector_steps(Isa isa);

}  // namespace shardproof::cpu
