#pragma once
// No proof without a run: a plan on all devices of small meshes beside its model and its erasure on
// one, by code that shares neither the rules nor the algebra with the proof.
#include "spec/check/cost_of_run.h"
#include "spec/check/devices.h"

namespace shardproof {

/// The plans that no other plan calls, and no steps: one of their runs goes through all that
/// they call, where the other runs take proved plans as their models.
std::vector<bool> plans_that_nobody_calls(const ir::Program& program);

/// A plan with a proof.
struct Proved {
  size_t plan = 0;
  std::vector<Divisibility> conditions;
  std::vector<std::string> assumptions;
  bool through = false;  ///< one of its runs goes through all that it calls
};

/// Null where three runs agree with what the plan claims. U0009: one does not. U0010: there are
/// not three to be made.
std::optional<Diagnostic> run_beside_model(const Devices::World& world, Proved proved,
                                           CostOfRun& costs);

/// The seconds of processor time that run_beside_model has taken.
double seconds_of_runs();

}  // namespace shardproof
