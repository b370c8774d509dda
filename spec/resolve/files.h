#pragma once
// The files of a program: reads and parses them, and orders imported before importing files.
#include "spec/resolve/resolve.h"
#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// Reads the standard library into files[0].
void load_library(World& world);

/// Reads `root` and all of its imports into World::files; the root is last. False if a file cannot
/// be read or parsed.
bool load(World& world, const std::string& path, syntax::File root, const FileReader& reader);

}  // namespace shardproof::resolution
