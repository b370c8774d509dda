#pragma once
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// Resolves scan, ring, pipeline, stages. Returns the last carries, then the stacked emitted
/// values.
std::vector<Values> run_loop(Body& body, const syntax::Loop& loop);

}  // namespace shardproof::resolution
