#pragma once
// The label rule of RULES: einsum, sum, max, expand, rearrange, and the index ops, which are
// einsums with a one-hot operand.
#include "spec/rules/combine.h"
#include "spec/rules/labels.h"

namespace shardproof::rules {

/// Axes and marks of the right side. Every operand that carries an index splits it alike (E0204);
/// an axis that splits an index splits no other one (E0209); every operand that lacks it is R
/// there; a contracted one is `contracted` in the result. The axes of a new index are as written.
Shape contract(const Application& app, const std::vector<Role>& roles, Mark contracted = Mark::U);

}  // namespace shardproof::rules
