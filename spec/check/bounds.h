#pragma once
// Checks that read and write stay inside their dim: at + |Q| <= |G| at every allowed size.
#include <vector>

#include "spec/check/check.h"

namespace shardproof {

/// E0405 for each read or write that exceeds its dim at some small sizes. Offsets that depend on
/// runtime values are not decided here: the verdict assumes that they are in range.
std::vector<Diagnostic> entries_beyond(const ir::Program& program, const ir::Function& function);

}  // namespace shardproof
