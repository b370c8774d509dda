#pragma once
// The divisibility conditions of a plan's local shapes.
#include <vector>

#include "spec/check/check.h"

namespace shardproof {

/// From the types of a plan's values: the product of a dim's axes divides its size (for a group,
/// that of its first factor). Over base dims; not reduced.
std::vector<Divisibility> conditions_of(const ir::Program& program, const std::vector<Type>& types);

/// Removes conditions that follow from another: `t*d | M` makes `t | M` redundant.
std::vector<Divisibility> reduce(std::vector<Divisibility> conditions);

/// False if both sizes are known and the division leaves a remainder; else true.
bool may_hold(const ir::Program& program, const Divisibility& condition);

}  // namespace shardproof
