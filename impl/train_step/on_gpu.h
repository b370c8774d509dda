#pragma once
// A training step as it runs on a GPU, and the memory that it takes there.
#include "impl/exec/plan.h"
#include "impl/train_step/roles.h"
#include "impl/train_step/step_memory.h"

namespace shardproof {

/// The options of a plan on a GPU. Those of a step, whose roles are given: new state takes the
/// place of the old.
PlanOptions on_gpu(PlanOptions options, const StepRoles* roles);

/// What rank 0 of the mesh takes of a GPU for the plan, as Trainer compiles it: the plan is made
/// for a GPU that need not be there. Throws PlanError as Plan does.
StepMemory memory_on_gpu(const Program& program, const Name& plan, const Mesh& mesh,
                         const DimSizes& dims, PlanOptions options = {});

}  // namespace shardproof
