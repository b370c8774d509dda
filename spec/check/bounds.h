#pragma once
// read and write stay inside their dim: at + |Q| <= |G| at every size that the file allows.
#include <vector>

#include "spec/check/check.h"

namespace shardproof {

/// E0405 for each read or write of the function that goes beyond its dim at some small sizes.
/// Offsets that depend on runtime values are not decided here: the verdict assumes them.
std::vector<Diagnostic> entries_beyond(const ir::Program& program, const ir::Function& function);

}  // namespace shardproof
