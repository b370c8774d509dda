#pragma once
// `implements grad(f) after P`: a hand-written backward takes what P took and saved, and the duals
// of what P gives; it gives the duals of what P took.
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// Each parameter and result of `backward` whose type is another one (E0114); `types`: of the
/// values of the plan that it stands after.
std::vector<Diagnostic> other_types_than_after(const ir::Program& program,
                                               const ir::Function& backward,
                                               const std::vector<Type>& types);

}  // namespace shardproof
