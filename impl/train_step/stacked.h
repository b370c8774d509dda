#pragma once
// Which dims number records that are stacked: `layers: Layer[X N]`.
#include "spec/ir/program.h"

namespace shardproof {

/// For each leaf parameter of the function, how many of its first dims number records that hold it.
std::vector<size_t> stacked_dims(const ir::Function& function);

}  // namespace shardproof
