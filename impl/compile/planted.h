#pragma once
// Planted bugs in pipelines and rings of the core, which no proof covers: they test the
// laws.

namespace shardproof::compile {

/// Set by tests only.
enum class RunFault {
  none,
  microbatch_twice,     ///< pipeline.cpp: a forward uses the previous microbatch
  stale_activation,     ///< ... uses the previous message
  overwritten,          ///< stage_gradient.cpp: all microbatches share one buffer of activations
  other_replica,        ///< pipeline.cpp: a message goes to the next stage of another replica
  other_stage,          ///< ... to the stage after the next
  loss_on_every_stage,  ///< ... each stage has the last one's emitted values
  block_missed,         ///< ring.cpp: the last block is not visited
  block_twice,          ///< ... a rank does not pass on the received block
  local_position,       ///< ... block numbers start at the rank's own
  term_missed,          ///< ... a travelling sum has the last rank's term only
};

/// While one exists, plans compiled in this process have the fault.
class PlantedRunFault {
 public:
  explicit PlantedRunFault(RunFault fault);
  ~PlantedRunFault();
  PlantedRunFault(const PlantedRunFault&) = delete;
};

bool is_planted(RunFault fault);

}  // namespace shardproof::compile
