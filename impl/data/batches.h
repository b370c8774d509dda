#pragma once
// Where the data of a training step come from.
#include "impl/tensor/placement.h"
#include "impl/tensor/tensor.h"

namespace shardproof {

/// Fills a step's data parameters by name. Each rank has one of its own, and fills its own part.
class Batches {
 public:
  virtual ~Batches() = default;
  /// What it can fill.
  virtual std::vector<Name> names() const = 0;
  /// Fills the part of `to` that this rank has by its type; the same batch until next().
  virtual void fill(const Name& name, const Placement& placement, Tensor& to) = 0;
  /// The batch that was filled is used up.
  virtual void next() {}
  /// Throws PlanError, naming what there is, where it cannot fill this parameter of the plan.
  void require_knows(const Name& parameter, const Name& plan) const;
};

}  // namespace shardproof
