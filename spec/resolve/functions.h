#pragma once
#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// Parameters and body of one function that is not generic.
void read_function(World& world, FunctionEntity& entity);

}  // namespace shardproof::resolution
