#pragma once
#include <string>
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/ir/program.h"

namespace shardproof {

/// Whether a name may contain it.
bool in_word(char c);
/// The texts that a diagnostic shows, to be edited.
std::vector<std::string*> texts_of(Diagnostic& diagnostic);

/// Replaces the internal names of local dims (`W.2`) by those that the file has. A diagnostic that
/// mentions two dims of one shown name keeps them apart.
void show_names(const ir::Program& program, std::vector<Diagnostic>& diagnostics);

}  // namespace shardproof
