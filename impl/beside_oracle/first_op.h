#pragma once
#include "impl/beside_oracle/plan_case.h"

namespace shardproof::beside {

/// The source location of the first op whose value on the ranks, in f64, differs from the oracle's;
/// none if all agree. A loop or a call counts as one op. Throws if a value of the plan cannot be a
/// result.
std::optional<SourceRange> first_op_that_differs(const PlanCase& one,
                                                 const std::shared_ptr<Device>& device);

}  // namespace shardproof::beside
