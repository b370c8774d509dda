#pragma once
// shard-train --print-plan: the step's plan as text.
#include <ostream>

#include "impl/shard_train/job.h"

namespace shardproof::shard_train {

/// Prints rank 0's plan at the stages in options.print_plan. Throws BadInput for a pass that does
/// not exist.
void print_plan(const Job& job, std::ostream& out);

}  // namespace shardproof::shard_train
