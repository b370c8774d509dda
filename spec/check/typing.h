#pragma once
// Applies the rules to a plan: gives the final type of every value, and a diagnostic for each
// refusal.
#include <vector>

#include "spec/ir/program.h"
#include "spec/rules/rule.h"

namespace shardproof {

/// A refusal with its location, from which fixes and counterexamples are made.
struct RefusedOp {
  Diagnostic diagnostic;
  Refusal refusal;
  const ir::Instr* instr = nullptr;  ///< null: a parameter's or result's type, a carry, an argument
  std::vector<Operand> operands;
  std::vector<Type> result_types;  ///< as stated, where the text states them
};

struct Typing {
  std::vector<Type> types;         ///< by value
  std::vector<bool> has_gradient;  ///< by value
  std::vector<RefusedOp> refused;
};

/// True for a plan that nothing differentiates: it calls grad, implements grad(f), or calls such a
/// plan.
std::vector<bool> find_steps(const ir::Program& program);

/// Types every value of plan `function`. Uses the stated result types of its callees.
Typing type_plan(const ir::Program& program, size_t function, bool is_step);

/// Explains where the state of `value` on `axis` comes from: "h is {U_t}: M is contracted
/// here and split over t"
std::optional<Label> origin_of_mark(const ir::Function& function, const std::vector<Type>& types,
                                    ir::ValueId value, const Axis& axis);

}  // namespace shardproof
