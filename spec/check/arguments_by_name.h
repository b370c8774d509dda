#pragma once
// A call of a library function whose arguments stand in another order than its parameters.
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/ir/program.h"

namespace shardproof {

/// For each call in the plan's text with arguments that are named like other parameters of the
/// function than their own, as in `adamw(g, w, m, v, ..)`: the arguments in the order of the names.
std::vector<Fix> fixes_of_argument_names(const Sources& sources, const ir::Function& plan);

}  // namespace shardproof
