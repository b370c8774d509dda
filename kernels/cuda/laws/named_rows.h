#pragma once
// Row-wise fused ops as in training steps.
#include "kernels/rowwise.h"

namespace shardproof::laws {

/// (x: bf16, w: f32 per column, eps: f32 scalar) -> (x / sqrt(mean(x x) + eps) * w: bf16)
Rowwise rms_norm_rows(int64_t rows, int64_t length);

/// (g, x, more: bf16, w: f32 per column, eps) -> (gradient of x, + more: bf16; gradient of w: f32
/// per column): the gradient of rms_norm_rows, plus that of the residual.
Rowwise rms_norm_backward_rows(int64_t rows, int64_t length);

/// (g, gate, up: bf16) -> (silu(gate) up, and the gradients of gate and up: bf16)
Rowwise swiglu_backward_rows(int64_t rows, int64_t length);

/// (g: f32 per row, logits: f32, target: i32 per row) -> (the gradient of cross_entropy's logits:
/// f32; the loss: f32 per row). A target out of range matches no entry.
Rowwise cross_entropy_backward_rows(int64_t rows, int64_t length);

/// All of them, in several sizes.
std::vector<Rowwise> named_rows();

}  // namespace shardproof::laws
