#pragma once
// Fixes of a plan whose value is not its model's: what the model writes, in the plan's text.
#include "spec/diag/diagnostic.h"
#include "spec/ir/program.h"

namespace shardproof {

/// Adds guesses (`search`) to the errors that are about a value, and as help what the model has
/// there.
void add_fixes_as_the_model(const Sources& sources, const ir::Program& program, size_t plan,
                            bool search, std::vector<Diagnostic>& diagnostics);

}  // namespace shardproof
