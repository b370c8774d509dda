#pragma once
// Attention and its gradient without a queries x keys tensor: processes tiles of query rows, whose
// logits are in the workspace. Products are those of kernels.h.
#include "kernels/fused.h"

namespace shardproof::cpu {

/// Bytes of workspace that run() needs in addition to the operands, on at most `at_once` threads.
/// It need not be initialized.
size_t attention_memory(const AttentionShape& op, bool gradient, int at_once = 1);

/// Runs at the level isa(), for which attention_rows() must not be null. outputs: o, log-sum-exps,
/// workspace.
void run(const Attention& op, void* const* outputs, const void* const* inputs, int at_once = 1);
/// outputs: g_q, g_k, g_v, workspace.
void run(const AttentionGrad& op, void* const* outputs, const void* const* inputs, int at_once = 1);

}  // namespace shardproof::cpu
