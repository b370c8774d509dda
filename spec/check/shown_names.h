#pragma once
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/ir/program.h"

namespace shardproof {

/// Replaces the internal names of local dims (`W.2`) by those that the file has. A diagnostic that
/// mentions two dims of one shown name keeps them apart.
void show_names(const ir::Program& program, std::vector<Diagnostic>& diagnostics);

}  // namespace shardproof
