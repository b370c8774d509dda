#pragma once
#include <vector>

#include "spec/diag/diagnostic.h"

namespace shardproof {

/// Leaves out the middle of what no one reads to the end, such as a pattern of a million letters.
void shorten_texts(std::vector<Diagnostic>& diagnostics);

}  // namespace shardproof
