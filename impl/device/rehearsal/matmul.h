#pragma once
// The products that a GPU's library has, on this processor.
#include "kernels/fused.h"

namespace shardproof {

/// (a, b): c as kernels/ops.h says, of f64, f32, or of bf16 entries with sums in f32.
void rehearsed(const Matmul& op, void* out, const void* const* inputs);

/// (a, b, bias): c, rounded once.
void rehearsed(const BiasedProduct& op, void* out, const void* const* inputs);

}  // namespace shardproof
