#pragma once
#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// Reads parameters and body of one function that is not generic.
void read_function(World& world, FunctionEntity& entity);

}  // namespace shardproof::resolution
