#pragma once
// What the functions that are called assume of their parameters, and their caller owes.
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// E0406 for each call of `function` whose arguments are not shown to be what the callee assumes,
/// with the `assume` that would show it; U0003 where that is not decided. Calls inside of its
/// callees are theirs.
std::vector<Diagnostic> unmet_assumptions(const Sources& sources, const ir::Program& program,
                                          size_t function);

}  // namespace shardproof
