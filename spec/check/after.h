#pragma once
// `implements grad(f) after P`: a hand-written backward takes P's parameters, the values that P
// saves, and the duals of P's results; it returns the duals of P's parameters.
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// Each parameter and result of `backward` with a wrong type (E0114); `types`: of the
/// values of the plan before it.
std::vector<Diagnostic> other_types_than_after(const ir::Program& program,
                                               const ir::Function& backward,
                                               const std::vector<Type>& types);

}  // namespace shardproof
