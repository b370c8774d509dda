#pragma once
// Declarations of files: dims, axes, consts, configs, and tables of records and functions.
#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// Fills the scope of every file but the library in order, and the program's dims, axes, consts and
/// configs.
void declare_files(World& world);

/// The same for the library, which has functions and schedules alone.
void declare_library(World& world);

}  // namespace shardproof::resolution
