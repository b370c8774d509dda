#pragma once
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/ir/program.h"

namespace shardproof {

/// For dims that do not match: says which of the names are one dim by an alias, `dim S = L`.
void tell_aliases(const ir::Program& program, std::vector<Diagnostic>& diagnostics);

}  // namespace shardproof
