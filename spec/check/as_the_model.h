#pragma once
// Fixes of a plan whose value is not its model's: what the model writes, in the plan's text.
#include "spec/check/written_values.h"
#include "spec/diag/diagnostic.h"
#include "spec/ir/program.h"

namespace shardproof {

/// The functions of the files that a plan and its model may call, by the files of both: each is
/// parsed once.
using WrittenByFiles = std::map<std::pair<int32_t, int32_t>, WrittenFunctions>;

/// Whether it is an error because a value differs from the model's.
bool about_a_value(const Diagnostic& diagnostic);

/// Adds guesses (`search`) to the errors that are about a value, and as help what the model has
/// there.
void add_fixes_as_the_model(const Sources& sources, const ir::Program& program, size_t plan,
                            bool search, WrittenByFiles& written,
                            std::vector<Diagnostic>& diagnostics);

}  // namespace shardproof
