#pragma once
// `implements grad(f) after P`: a hand-written backward. Its parameters are P's parameters, the
// values that P saves, and the duals of P's results; it returns the duals of P's parameters.
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// Reports each parameter and result of `backward` with a wrong type (E0114). `types`: those of the
/// values of P.
std::vector<Diagnostic> other_types_than_after(const ir::Program& program,
                                               const ir::Function& backward,
                                               const std::vector<Type>& types);

}  // namespace shardproof
