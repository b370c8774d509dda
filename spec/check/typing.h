#pragma once
// Applies the typing rules to a plan: infers the type of every value, and reports each
// refusal.
#include <map>
#include <vector>

#include "spec/ir/program.h"
#include "spec/rules/rule.h"

namespace shardproof {

/// For a record as an argument: its name where it is a parameter, its layout, and the parameter's.
struct Layouts {
  Name record, have, want;
};

/// A refusal with its location; fixes and counterexamples are made from it.
struct RefusedOp {
  Diagnostic diagnostic;
  Refusal refusal;
  const ir::Instr* instr = nullptr;  ///< null: the type of a parameter, result, carry or argument
  std::vector<Operand> operands;
  std::vector<Type> result_types;                 ///< if the source states them
  std::optional<Layouts> layouts = std::nullopt;  ///< E0303 of a record
};

struct Typing {
  std::vector<Type> types;         ///< by value
  std::vector<bool> has_gradient;  ///< by value
  std::vector<RefusedOp> refused;
  /// Calls of a plan with `{?_t}`, and the instance that the arguments fit.
  std::map<const ir::Instr*, size_t> picked;
};

/// By function: whether it is a training step, which nothing differentiates: a plan that calls
/// grad, implements grad(f), or calls a step.
std::vector<bool> find_steps(const ir::Program& program);

/// Infers the type of every value of plan `function`, using the stated result types of its callees.
Typing type_plan(const ir::Program& program, size_t function, bool is_step);

/// The same, and lets the function's calls name the instances that their arguments fit.
Typing type_and_pick(ir::Program& program, size_t function, bool is_step);

/// Explains where the state of `value` on `axis` comes from: "h is {U_t}: M is contracted here and
/// split over t".
std::optional<Label> origin_of_mark(const ir::Function& function, const std::vector<Type>& types,
                                    ir::ValueId value, const Axis& axis);

}  // namespace shardproof
