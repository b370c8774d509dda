#pragma once
// The roles of a training step's parameters and results, and the plans that belong to it.
#include <optional>

#include "impl/program.h"

namespace shardproof {

/// A parameter that a result replaces after each step, as `w1` replaces `w`: consecutive leaves.
struct StateGroup {
  Name name;
  size_t param = 0, result = 0, count = 0;  ///< the first leaf of each, and their number
};

/// Leaves by their position among the parameters or results.
struct StepRoles {
  size_t step = 0;  ///< the function
  std::vector<StateGroup> state;
  std::optional<size_t> number, learning_rate;  ///< parameters called step and lr
  std::vector<size_t> keys;                     ///< parameters of dtype key: drawn for each step
  std::vector<size_t> data;                     ///< all others
  std::vector<size_t> metrics;                  ///< results that are not state
  std::vector<size_t> losses;                   ///< functions whose value_and_grad it takes
};

/// The roles of plan `name`. If empty: of the only plan of the file that calls value_and_grad, in
/// its own body or in a plan that it calls, and returns state. Throws PlanError with the
/// candidates.
StepRoles roles_of(const Program& program, const Name& name = {});

/// The roles of one plan; null if it is not a training step. Throws PlanError if its state changes
/// its type.
std::optional<StepRoles> roles_of_step(const Program& program, const PlanReport& report);

/// The plan that initializes the state; for each group of its results, the group of the state.
struct InitRoles {
  size_t plan = 0;
  std::vector<size_t> groups;  ///< indices in StepRoles::state
};

/// Plan `name`. If empty: the only plan that takes a key and returns state of the step's types. A
/// result belongs to the state of its name; a single result without a name is the first state.
/// Null if there is none. Throws PlanError with the candidates if there are several.
std::optional<InitRoles> find_init(const Program& program, const StepRoles& roles,
                                   const Name& name = {});
/// The same; throws PlanError if there is none.
InitRoles init_of(const Program& program, const StepRoles& roles, const Name& name = {});

/// The plans that `plan` calls, directly or not, callers first.
std::vector<size_t> called_by(const ir::Program& program, size_t plan);

/// The V in the proof's assumption `0 <= name < |V|` about a data parameter.
std::optional<Dim> range_of_data(const Program& program, const StepRoles& roles, const Name& name);
/// The same about `ids` or `targets`.
std::optional<Dim> vocabulary_of(const Program& program, const StepRoles& roles);

/// Whether the parameters of the plan that are the step's state have its types.
bool takes_state(const ir::Function& plan, const ir::Function& step, const StepRoles& roles);

/// Equal except for {I}, which concerns gradients, not what a rank holds.
bool same_value_type(Type a, Type b);

}  // namespace shardproof
