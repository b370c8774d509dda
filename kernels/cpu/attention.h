#pragma once
// Attention and its gradient without a tensor of queries and keys: some rows of queries at a time,
// whose logits are in `memory`. Products are those of kernels.h.
#include "kernels/fused.h"

namespace shardproof::cpu {

/// Bytes of memory that run() needs besides the op's operands, which it does not read first.
size_t attention_memory(const AttentionShape& op, bool gradient);

/// At the level of isa(), which has attention_rows(). outputs: o, masses, memory.
void run(const Attention& op, void* const* outputs, const void* const* inputs);
/// outputs: g_q, g_k, g_v, memory.
void run(const AttentionGrad& op, void* const* outputs, const void* const* inputs);

}  // namespace shardproof::cpu
