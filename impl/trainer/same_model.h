#pragma once
// Whether a plan that extends a cache is of the model that is trained.
#include "impl/train_step/roles.h"

namespace shardproof {

/// Requires that the only plan of `cached` that extends a cache takes the weights of the step as
/// they are: names, dims, dtypes and layouts. And, if `logits` names a plan of `program`, that both
/// give the same logits, in double, for random weights and tokens on a mesh of one device: all
/// positions but the last at once, then the last one with the cache. Sizes are those of `dims` as
/// far as a run takes no long time. Throws PlanError with what differs.
void require_same_model(const Program& program, const StepRoles& roles,
                        const std::optional<Name>& logits, const Program& cached,
                        const DimSizes& dims);

}  // namespace shardproof
