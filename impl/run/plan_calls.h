#pragma once
// A hash of a plan's collectives. They do not depend on data, so ranks with the same hash make the
// same calls in the same order, and need not compare them one by one.
#include <vector>

#include "impl/plan/steps.h"
#include "impl/run/plan.h"

namespace shardproof::plan {

uint64_t hash_of_sizes(const std::vector<Slot>& inputs, const std::vector<Slot>& outputs);

/// Op, element, count, group size, shift and location of all collectives, in order. `groups` are
/// this rank's groups, each with its ranks; `seed` is hashed too.
uint64_t hash_of_calls(const std::vector<Step>& steps, const std::vector<std::vector<int>>& groups,
                       uint64_t seed);

}  // namespace shardproof::plan
