#pragma once
// What the file itself declares and nothing in it names.
#include <vector>

#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// L0003 for each value, fn and dim of the file that is read last (the one asked for). A name that
/// begins with `_` is meant to be unused, and so is what `save` keeps. A file without a claim is
/// there to be imported: its fns and dims are not told; nor are fns where a config gives sizes, for
/// they can be run by name.
std::vector<Diagnostic> unused(const World& world);

}  // namespace shardproof::resolution
