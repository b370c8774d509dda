#pragma once
// The source of a training step's data.
#include "impl/tensor/placement.h"
#include "impl/tensor/tensor.h"

namespace shardproof {

/// Fills the data parameters of a step by name. Each rank has its own object, which fills its part.
class Batches {
 public:
  virtual ~Batches() = default;
  /// The names that it can fill.
  virtual std::vector<Name> names() const = 0;
  /// Fills this rank's part of `to`, as its type says; the same batch until next().
  virtual void fill(const Name& name, const Placement& placement, LocalTensor& to) = 0;
  /// Moves on to the next batch.
  virtual void next() {}
  /// Throws PlanError with the names that it has, if it cannot fill this parameter of the plan.
  void require_knows(const Name& parameter, const Name& plan) const;
};

}  // namespace shardproof
