#pragma once
#include "impl/beside_oracle/plan_case.h"

namespace shardproof::beside {

/// Where the op is written whose value on the ranks, in f64, is the first that is not what the
/// oracle makes of the plan's own text; nothing where each is. Loops and calls are one op. Throws
/// where the values of a plan cannot be its results.
std::optional<SourceRange> first_op_that_differs(const PlanCase& one,
                                                 const std::shared_ptr<Device>& device);

}  // namespace shardproof::beside
