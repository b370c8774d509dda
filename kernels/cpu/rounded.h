#pragma once
// Products of operands that are rounded to bf16 as they are packed for tiles: matmul.cpp.
#include "kernels/fused.h"

namespace shardproof::cpu {

/// Whether tiles compute it at the level isa().
bool has_tiles_for(const RoundedProduct& op);
/// Call it only if has_tiles_for().
void run(const RoundedProduct& op, void* const* outputs, const void* const* inputs);

}  // namespace shardproof::cpu
