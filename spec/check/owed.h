#pragma once
// A caller must guarantee the assumptions of its callees.
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// For each call in `function` with arguments that are not proved to satisfy the callee's
/// assumptions, with the `assume` that would help: E0406 if the argument is a parameter that
/// nothing is assumed about, else U0012; U0003 if undecided. Calls inside the callees are checked
/// separately.
std::vector<Diagnostic> unmet_assumptions(const Sources& sources, const ir::Program& program,
                                          size_t function);

}  // namespace shardproof
