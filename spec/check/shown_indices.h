#pragma once
#include <vector>

#include "spec/diag/diagnostic.h"

namespace shardproof {

/// The algebra's indices over F are F', F'2, F'3, as it happens to need them: each diagnostic
/// counts its own ones from the first.
void number_indices(std::vector<Diagnostic>& diagnostics);

}  // namespace shardproof
