#pragma once
// What a fused elementwise kernel computes.
#include "impl/plan/steps.h"

namespace shardproof::plan {

/// Whether the step adds each of its inputs once, entry by entry.
bool adds_all(const Step& step);

}  // namespace shardproof::plan
