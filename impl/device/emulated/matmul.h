#pragma once
// Computes on the CPU the products of a GPU's library.
#include "kernels/fused.h"

namespace shardproof {

/// (a, b): c as in kernels/ops.h, for f64, f32, or bf16 with sums in f32.
void emulate(const Matmul& op, void* out, const void* const* inputs);

/// (a, b, bias): c, rounded once.
void emulate(const BiasedProduct& op, void* out, const void* const* inputs);

}  // namespace shardproof
