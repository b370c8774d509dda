#pragma once
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// E0101 for a name that no visible value has, with what the body says of that name.
void no_such_value(Body& body, const Name& name, SourceRange range);

}  // namespace shardproof::resolution
