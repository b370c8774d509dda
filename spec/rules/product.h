#pragma once
// The label rule: einsum, sum, max, expand, rearrange, and the index ops, which are einsums with a
// one-hot operand.
#include "spec/rules/combine.h"
#include "spec/rules/labels.h"

namespace shardproof::rules {

/// What each operand is in the result.
std::vector<Role> roles(const ir::Einsum& op);
std::vector<Role> roles(const ir::Reduce& op);

/// Axes and marks of the right side. All operands that have an index split it the same way (E0204).
/// An axis splits at most one index (E0209). An operand without the index is R on its axes. A
/// contracted index leaves the mark `contracted`. A new index has the axes that are written.
Shape contract(const Application& app, const std::vector<Role>& roles, Mark contracted = Mark::U);

}  // namespace shardproof::rules
