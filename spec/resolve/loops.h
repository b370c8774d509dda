#pragma once
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// scan, ring, pipeline, stages: the last carries, then what was emitted, stacked.
std::vector<Values> run_loop(Body& body, const syntax::Loop& loop);

}  // namespace shardproof::resolution
