#pragma once
// A limit of what is compiled for a figure or a test: the passes over a plan take longer than its
// length.
#include "impl/tensor/placement.h"
#include "spec/check/what_helps.h"

namespace shardproof::check_sharding {

/// Throws PlanError for a plan that is too long.
inline void require_few_ops(const ir::Program& program, size_t plan) {
  constexpr size_t most = 5000;
  if (ops_written_out(program, plan) > most)
    throw PlanError("the plan has more than 5,000 instructions");
}

}  // namespace shardproof::check_sharding
