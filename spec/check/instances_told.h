#pragma once
// The instances of a plan with `{?_t}` have one text: what is reported of several is shown once.
#include "spec/check/check.h"

namespace shardproof {

/// The axes on which a value of such a plan has `{?_t}`, by its types in the first instance and in
/// the last: R in the first, I in the last.
std::vector<Axis> open_axes(const Type& first, const Type& last);

/// Drops what an earlier instance of the same plan reports at the same range, and names the
/// instances where not all report it.
void tell_instances(const ir::Program& program, std::vector<PlanReport>& plans);

}  // namespace shardproof
