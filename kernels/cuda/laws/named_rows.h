#pragma once
// Chains along rows that training steps are made of.
#include "kernels/rowwise.h"

namespace shardproof::laws {

/// (x: bf16, w: f32 per column, eps: f32 for all) -> (x / sqrt(the mean of x x + eps) * w: bf16)
Rowwise rms_norm_rows(int64_t rows, int64_t length);

/// (g, x, more: bf16, w: f32 per column, eps) -> (what g is in x, + more: bf16; in w: f32 per
/// column): the gradient of rms_norm_rows, with that of the residual.
Rowwise rms_norm_backward_rows(int64_t rows, int64_t length);

/// (g, gate, up: bf16) -> (silu(gate) up, and what g is in gate and up: bf16)
Rowwise swiglu_backward_rows(int64_t rows, int64_t length);

/// (g: f32 per row, logits: f32, target: i32 per row) -> (what g is in the logits of
/// cross_entropy: f32; the loss: f32 per row). A target without an entry hits none.
Rowwise cross_entropy_backward_rows(int64_t rows, int64_t length);

/// All of them, of a few sizes.
std::vector<Rowwise> named_rows();

}  // namespace shardproof::laws
