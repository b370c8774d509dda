#pragma once
// Plants a bug in the elaboration, to test which checks detect it.
#include <functional>

#include "spec/ir/ops.h"

namespace shardproof::elaborate {

/// While one exists, `fault` changes every op whose pattern this thread elaborates; rules,
/// lowering, denotation and runs use the result. For tests only.
class PlantedFault {
 public:
  using Fault = std::function<void(ir::Op&)>;
  explicit PlantedFault(Fault fault);
  ~PlantedFault();
  PlantedFault(const PlantedFault&) = delete;
};

/// Changes an op as the planted fault says; does nothing without one.
void apply_planted(ir::Op& op);

}  // namespace shardproof::elaborate
