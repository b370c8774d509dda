#pragma once
// The files of a program: read, parsed, and brought into one order, imported before importing.
#include "spec/resolve/resolve.h"
#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// Reads the standard library into files[0]; its functions and schedules, nothing else.
void load_library(World& world);

/// Reads `root` and all it imports into World::files; the root is the last. False: some file cannot
/// be read or parsed.
bool load(World& world, const std::string& path, syntax::File root, const FileReader& reader);

}  // namespace shardproof::resolution
