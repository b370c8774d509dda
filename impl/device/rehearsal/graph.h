#pragma once
// The graphs that a GPU's library is asked for, on this processor.
#include "impl/device/graph/tensor_graph.h"

namespace shardproof {

/// Runs the ops in order; memory[t]: where tensor t is, for arrays.
void evaluate(const TensorGraph& graph, const std::vector<void*>& memory);

}  // namespace shardproof
