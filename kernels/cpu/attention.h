#pragma once
// Attention and its gradient without a queries x keys tensor: some rows of queries at a time,
// whose logits are in `memory`. Products are those of kernels.h.
#include "kernels/fused.h"

namespace shardproof::cpu {

/// Bytes of workspace that run() needs beyond the operands; it need not be initialized.
size_t attention_memory(const AttentionShape& op, bool gradient);

/// Runs at the level isa(), for which attention_rows() is not null. outputs: o, masses, workspace.
void run(const Attention& op, void* const* outputs, const void* const* inputs);
/// outputs: g_q, g_k, g_v, workspace.
void run(const AttentionGrad& op, void* const* outputs, const void* const* inputs);

}  // namespace shardproof::cpu
