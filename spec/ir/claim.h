#pragma once
// The claim of a plan. A plan with padded results (spec/resolve/pads.h) has another function for
// it.
#include "spec/ir/program.h"

namespace shardproof::ir {

/// The function that states what plan `f` claims: `f` itself unless its results are padded.
inline size_t claim_of(const Program& program, size_t f) {
  return program.functions.at(f).claim.value_or(f);
}

/// The function that `plan` implements.
inline const std::optional<size_t>& claimed_model(const Program& program, const Function& plan) {
  return plan.claim ? program.functions.at(*plan.claim).model : plan.model;
}

}  // namespace shardproof::ir
