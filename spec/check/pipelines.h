#pragma once
// A pipeline means a scan over its microbatches around a scan over its layers. Its schedule is an
// order of the work that must terminate.
#include "spec/check/conditions.h"

namespace shardproof {

/// Whether the function contains a pipeline.
bool has_pipeline(const ir::Function& function);

/// Replaces the pipelines in `function`'s body by their meaning and keeps the original: layers are
/// gathered before the scans. What the stages emit is sliced to a stage's own layers; any other
/// emitted value goes through `zero_nonroot`, which makes it {U_p}. Gradients are per stage: N/p of
/// layers, {U_p} for values that several stages read. `types`: those of its values, accepted by the
/// rules; appends those of new values.
void expand_pipelines(const ir::Program& program, ir::Function& function, std::vector<Type>& types);

/// The sizes at which the schedules of the function's pipelines were run.
std::vector<ScheduleBound> schedule_bounds(const ir::Function& function);

/// Each stage has the same number of layers: p | N, also if all stages hold copies.
std::vector<Divisibility> stages_divide(const ir::Program& program, const ir::Function& function);

}  // namespace shardproof
