#pragma once
// A pipeline is a scan over its microbatches around a scan over its layers, and its schedule an
// order that comes to an end.
#include "spec/check/conditions.h"

namespace shardproof {

/// Whether a pipeline is in the text of the function.
bool has_pipeline(const ir::Function& function);

/// Puts what its pipelines mean in the place of `function`'s body, and keeps its text: scans whose
/// layers are gathered before them, and `zero_nonroot` of what is emitted, which is {U_p}. Their
/// gradients are the stages' own: N/p of layers, {U_p} of what several stages read. `types` are
/// those of its values, all allowed by the rules; types of new values are appended.
void expand_pipelines(const ir::Program& program, ir::Function& function, std::vector<Type>& types);

/// Those of the pipelines in the text of `function`.
std::vector<ScheduleBound> schedule_bounds(const ir::Function& function);

/// Each stage has as many layers as every other: p | N, also where all stages hold copies.
std::vector<Divisibility> stages_divide(const ir::Program& program, const ir::Function& function);

}  // namespace shardproof
