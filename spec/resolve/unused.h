#pragma once
// Declarations of a file that nothing in it uses.
#include <vector>

#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// L0003 for each unused value, function and dim of the last file (the one that is checked). Not
/// for names that begin with `_`, and not for saved values. In a file without claims, which exists
/// to be imported, functions and dims are not reported. Functions are not reported either if a
/// config gives sizes: they can be run by name.
std::vector<Diagnostic> unused(const World& world);

}  // namespace shardproof::resolution
