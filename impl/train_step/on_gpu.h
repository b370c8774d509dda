#pragma once
// A training step as it runs on a GPU, and the memory that it takes there.
#include "impl/compile/compile_plan.h"
#include "impl/train_step/roles.h"

namespace shardproof {

/// The options of a plan on a GPU. Those of a step, whose roles are given: new state takes the
/// place of the old.
PlanOptions on_gpu(PlanOptions options, const StepRoles* roles);

/// Bytes of one rank on a GPU. Not among them: what CUDA and the libraries take for themselves.
struct StepMemory {
  size_t inputs = 0;   ///< state and data
  size_t results = 0;  ///< those that take no parameter's place
  size_t between = 0;  ///< all else, where it is the most: saved, gathered, gradients, scratch
  size_t bytes() const { return inputs + results + between; }
};

/// What a rank of the mesh takes of a GPU for the plan, as Trainer compiles it: of a pipeline that
/// of the first or the last stage, whichever takes more. The plan is made for a GPU that need not
/// be there. Throws PlanError as compile_plan does.
StepMemory memory_on_gpu(const Program& program, const Name& plan, const Mesh& mesh,
                         const DimSizes& dims, PlanOptions options = {});

}  // namespace shardproof
