#pragma once
// Options and memory of a training step on a GPU.
#include "impl/compile/compile_plan.h"
#include "impl/train_step/roles.h"

namespace shardproof {

/// The options for a plan on a GPU. With `roles`, those of a training step: the new state
/// overwrites the old one.
PlanOptions on_gpu(PlanOptions options, const StepRoles* roles);

/// Bytes for one rank on a GPU, without the memory that CUDA and its libraries use.
struct StepMemory {
  size_t inputs = 0;   ///< state and data
  size_t results = 0;  ///< those that do not replace a parameter
  size_t between = 0;  ///< peak of all other buffers: saved, gathered, gradients, scratch
  size_t bytes() const { return inputs + results + between; }
};

/// The memory that a rank needs on a GPU for the plan, as Trainer compiles it. Of a pipeline, the
/// first or the last stage, whichever needs more. No GPU is needed to compute it. Throws PlanError
/// as compile_plan does.
StepMemory memory_on_gpu(const Program& program, const Name& plan, const Mesh& mesh,
                         const DimSizes& dims, PlanOptions options = {});

}  // namespace shardproof
