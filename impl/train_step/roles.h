#pragma once
// What the parameters and results of a training step are for, and which plans go with it.
#include <optional>

#include "impl/program.h"

namespace shardproof {

/// A parameter that a result replaces after each step, `w` by `w1`: leaves next to each other.
struct StateGroup {
  Name name;
  size_t param = 0, result = 0, count = 0;  ///< the first leaf of each, and how many
};

/// Leaves by their position among the parameters or results.
struct StepRoles {
  size_t step = 0;  ///< the function
  std::vector<StateGroup> state;
  std::optional<size_t> number, learning_rate;  ///< parameters called step and lr
  std::vector<size_t> keys;                     ///< parameters of dtype key: drawn for each step
  std::vector<size_t> data;                     ///< all others
  std::vector<size_t> metrics;                  ///< results that are no state
  std::vector<size_t> losses;                   ///< the functions whose value_and_grad is taken
};

/// Of the plan called `name`; where it is empty, of the only plan of the file that takes a
/// value_and_grad, itself or in what it calls, and returns state. Throws PlanError, naming the
/// candidates.
StepRoles roles_of(const Program& program, const Name& name = {});

/// Of one plan; nothing where it is no such step. Throws PlanError where its state changes its
/// type.
std::optional<StepRoles> roles_of_step(const Program& program, const PlanReport& report);

/// The first state: a plan, and which group of the state each group of its results is.
struct InitRoles {
  size_t plan = 0;
  std::vector<size_t> groups;  ///< of StepRoles::state
};

/// The plan called `name`; where it is empty, the only one that takes a key and gives state of the
/// step's types. Results called as state are that state, a single one without a name is the first.
/// Throws PlanError, naming the candidates.
InitRoles init_of(const Program& program, const StepRoles& roles, const Name& name = {});

/// The plans that `plan` calls, and those that these call, callers first.
std::vector<size_t> called_by(const ir::Program& program, size_t plan);

/// The dim that the ids of these data parameters are below, by what the proof assumes of them:
/// `0 <= ids < |V|`.
std::optional<Dim> vocabulary_of(const Program& program, const StepRoles& roles);

/// The same but for {I}, which speaks of gradients and not of what a rank has.
bool same_value_type(Type a, Type b);

}  // namespace shardproof
