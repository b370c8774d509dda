#pragma once
// The divisibility conditions of a plan's local shapes.
#include <vector>

#include "spec/check/check.h"

namespace shardproof {

/// From the types of every value of a plan: for each split dim, the product of its axes divides the
/// dim (a group's first factor). Over base dims; not reduced.
std::vector<Divisibility> conditions_of(const ir::Program& program, const std::vector<Type>& types);

/// Without those that follow from another: `t*d | M` drops `t | M`.
std::vector<Divisibility> reduce(std::vector<Divisibility> conditions);

/// False if both sizes are known and it does not divide; true if it does, or a size is unknown.
bool may_hold(const ir::Program& program, const Divisibility& condition);

}  // namespace shardproof
