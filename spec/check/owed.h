#pragma once
// A caller must guarantee what its callees assume of their parameters.
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// E0406 for each call in `function` whose arguments are not shown to satisfy the callee's
/// assumptions, with the `assume` that would show it; U0003 if undecided. Calls inside its callees
/// are checked there.
std::vector<Diagnostic> unmet_assumptions(const Sources& sources, const ir::Program& program,
                                          size_t function);

}  // namespace shardproof
