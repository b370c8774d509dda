#pragma once
// Compares the measured times of a pipeline's stages in a step with the model of schedules.
#include "impl/comm/communicator.h"
#include "impl/run/plan.h"
#include "spec/schedule/schedule.h"

namespace shardproof::shard_train {

struct MeasuredStages {
  schedule::Run run;  ///< in microseconds, from the first to the last work of any stage
  int64_t chunks = 1;
  schedule::Durations mean;  ///< mean durations in the run
  double model = 0;          ///< idle share of the stages if each piece of work takes the mean
};

/// Collective: the last step that all ranks measured, for the stages with coordinate 0 on all other
/// axes. No value if the step has no pipeline, and on ranks other than 0.
std::optional<MeasuredStages> measured_stages(const Plan& step, const Mesh& mesh,
                                              Communicator& communicator);

}  // namespace shardproof::shard_train
