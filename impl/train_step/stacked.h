#pragma once
// Finds dims that index stacked records: `layers: Layer[X N]`.
#include "spec/ir/program.h"

namespace shardproof {

/// By leaf parameter of the function: the number of leading dims that index the records around it.
std::vector<size_t> stacked_dims(const ir::Function& function);

}  // namespace shardproof
