#pragma once
// The options and the memory of a training step on a GPU.
#include "impl/compile/compile_plan.h"
#include "impl/train_step/roles.h"

namespace shardproof {

/// The options of a plan on a GPU. With `roles`, those of a training step: new state overwrites
/// the old.
PlanOptions on_gpu(PlanOptions options, const StepRoles* roles);

/// Bytes of one rank on a GPU, without what CUDA and the libraries use themselves.
struct StepMemory {
  size_t inputs = 0;   ///< state and data
  size_t results = 0;  ///< those that do not replace a parameter
  size_t between = 0;  ///< the peak of all else: saved, gathered, gradients, scratch
  size_t bytes() const { return inputs + results + between; }
};

/// The memory that a rank needs on a GPU for the plan, as Trainer compiles it. Of a pipeline, the
/// first or the last stage, whichever needs more. No GPU is needed to compute it. Throws PlanError
/// as compile_plan does.
StepMemory memory_on_gpu(const Program& program, const Name& plan, const Mesh& mesh,
                         const DimSizes& dims, PlanOptions options = {});

}  // namespace shardproof
