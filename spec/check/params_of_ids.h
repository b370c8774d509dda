#pragma once
// Finds the parameters that may index a table: they must stay within its rows when numbers are
// drawn.
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// By parameter of the function: whether an id of a table may be computed from it, here, in what it
/// calls, or in its model.
std::vector<bool> params_of_ids(const ir::Program& program, const ir::Function& function);

}  // namespace shardproof
