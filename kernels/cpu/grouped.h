#pragma once
// Products with matrices that ids choose from a table, one product for each matrix in use.
#include "kernels/fused.h"

namespace shardproof::cpu {

/// Throws std::out_of_range with the id if an id has no entry.
void run(const GroupedProduct& op, void* const* outputs, const void* const* inputs);
void run(const GroupedSum& op, void* const* outputs, const void* const* inputs);

}  // namespace shardproof::cpu
