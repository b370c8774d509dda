#pragma once
// Runs on the CPU the graphs that are meant for a GPU's library.
#include "impl/device/graph/tensor_graph.h"

namespace shardproof {

/// Runs the ops in order; memory[t] is the address of tensor t, for arrays.
void evaluate(const TensorGraph& graph, const std::vector<void*>& memory);

}  // namespace shardproof
