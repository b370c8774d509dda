#pragma once
// What the stages of a pipeline did in a step, beside what the model of schedules says.
#include "impl/comm/communicator.h"
#include "impl/run/plan.h"
#include "spec/schedule/schedule.h"

namespace shardproof::shard_train {

struct MeasuredStages {
  schedule::Run run;  ///< in microseconds, from the first work of a stage to the last
  int64_t chunks = 1;
  schedule::Durations mean;  ///< of the run
  double model = 0;          ///< the share of time in which stages wait where each takes the mean
};

/// Collective: the last step that all ranks measured, of the stages that are 0 on the other axes.
/// Without a value where the step has no pipeline, and on ranks other than 0.
std::optional<MeasuredStages> measured_stages(const Plan& step, const Mesh& mesh,
                                              Communicator& communicator);

}  // namespace shardproof::shard_train
