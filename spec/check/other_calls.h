#pragma once
#include <string>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// How the plan's calls of the library differ from its model's: "`f` calls `gelu`, `p` calls
/// `relu`"; "eps of `layer_norm` is 1e-5 in `f`, and 1e-6 in `p`".
std::vector<std::string> calls_that_differ(const ir::Program& program, size_t plan);

}  // namespace shardproof
