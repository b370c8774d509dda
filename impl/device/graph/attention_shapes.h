#pragma once
// Attention shapes of models, for tests and benchmarks.
#include "kernels/fused.h"

namespace shardproof {

/// Causal, bf16, of [batch, position, heads, group, width].
inline AttentionGrad causal_attention(int64_t batch, int64_t positions, int64_t heads,
                                      int64_t group, int64_t width) {
  AttentionGrad op;
  op.batch[1] = batch;
  op.batch[2] = heads;
  op.queries = op.keys = positions;
  op.group = group;
  op.width = width;
  op.element = Element::bf16;
  op.mask_kind = MaskKind::causal;
  op.scale = {0.125f};
  const int64_t own = heads * width, all = own * group;
  op.q = op.g = op.o = op.g_q = {{0, positions * all, group * width}, all, width};
  op.k = op.v = op.g_k = op.g_v = {{0, positions * own, width}, own, 0};
  op.after_forward = true;
  return op;
}

/// The attention of which this is the gradient.
inline Attention forward_of(const AttentionGrad& gradient) {
  Attention op;
  static_cast<AttentionShape&>(op) = gradient;
  op.o = gradient.o;
  return op;
}

}  // namespace shardproof
