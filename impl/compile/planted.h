#pragma once
// Bugs of the core's own turns in pipelines and rings, which no proof covers, planted to see that
// the laws notice.

namespace shardproof::compile {

/// Never set outside tests.
enum class RunFault {
  none,
  microbatch_twice,  ///< pipeline.cpp: a forward is of the microbatch before
  stale_activation,  ///< ... of what came with the message before
  overwritten,       ///< stage_gradient.cpp: all microbatches keep their activations in one buffer
  other_replica,     ///< pipeline.cpp: a message goes to the next stage of another replica
  other_stage,       ///< ... to the stage behind the next
  loss_on_every_stage,  ///< ... each stage has what the last one emits
  block_missed,         ///< ring.cpp: the last block is not visited
  block_twice,          ///< ... a rank does not pass on what it was sent
  local_position,       ///< ... blocks are counted from the rank's own
};

/// While one lives, what this process compiles has the fault.
class PlantedRunFault {
 public:
  explicit PlantedRunFault(RunFault fault);
  ~PlantedRunFault();
  PlantedRunFault(const PlantedRunFault&) = delete;
};

bool is_planted(RunFault fault);

}  // namespace shardproof::compile
