#pragma once
// shard-train --print-plan: the step's plan as text.
#include <ostream>

#include "impl/shard_train/job.h"

namespace shardproof::shard_train {

/// Prints what options.print_plan asks for, of rank 0. Throws BadInput for a pass that does not
/// exist.
void print_plan(const Job& job, std::ostream& out);

}  // namespace shardproof::shard_train
