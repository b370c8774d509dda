#pragma once
// The divisibilities that the local shapes of a plan need.
#include <vector>

#include "spec/check/check.h"

namespace shardproof {

/// From the types of every value of a plan: for each split dim, the product of its axes divides the
/// dim (a group's first factor). Over base dims; not reduced.
std::vector<Divisibility> conditions_of(const ir::Program& program, const std::vector<Type>& types);

/// Without those that follow from another: `t*d | M` drops `t | M`.
std::vector<Divisibility> reduce(std::vector<Divisibility> conditions);

/// False: both sides have known sizes and it does not divide. True: it does, or a size is open.
bool may_hold(const ir::Program& program, const Divisibility& condition);

}  // namespace shardproof
