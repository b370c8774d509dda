#pragma once
// A bug of the elaboration, planted to see who notices.
#include <functional>

#include "spec/ir/ops.h"

namespace shardproof::elaborate {

/// While one lives, every op whose pattern this thread elaborates is changed by `fault`: rules,
/// lowering, denotation and runs believe what it says. For tests alone.
class PlantedFault {
 public:
  using Fault = std::function<void(ir::Op&)>;
  explicit PlantedFault(Fault fault);
  ~PlantedFault();
  PlantedFault(const PlantedFault&) = delete;
};

/// Changes an op as the planted fault says; nothing where none lives.
void apply_planted(ir::Op& op);

}  // namespace shardproof::elaborate
