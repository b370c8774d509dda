#pragma once
// One application of a rule: the op, its operands and its pattern, without axes of size 1. Internal
// to spec/rules.
#include <string>
#include <vector>

#include "spec/rules/rule.h"

namespace shardproof::rules {

/// State of a value on one mesh axis.
enum class State { R, I, U, Max, S };
/// The same value on each device.
inline bool is_copy(State state) { return state == State::R || state == State::I; }

/// Thrown by a rule, caught by apply_rule.
struct Refused {
  Refusal refusal;
};
[[noreturn]] void refuse(Refusal refusal);

using Types = std::vector<Type>;
inline Types one(Type type) {
  Types types;
  types.push_back(std::move(type));
  return types;
}

struct Application {
  const ir::Program& program;
  const ir::Op& op;
  std::string name;  ///< of the op, as written
  const std::vector<Operand>& operands;
  const ir::Pattern& pattern;  ///< as written, or `completed`; of pointwise ops, the indices alone
  ir::Pattern& completed;      ///< by complete() and conclude(), if it is inferred
  bool unit_axes = false;      ///< the pattern has axes of size 1, so both sides may look equal
  std::vector<Axis> unit_bracket = {};    ///< axes of size 1 at the start of its bracketed dim
  std::optional<size_t> worked_dim = {};  ///< the dim after `;` in a pattern without `->`
  bool left_only = false;                 ///< the pattern is written without `->`
  Types guess = {};  ///< the result type to continue with after a refusal, if a rule gives it
  bool value_only = false;  ///< the result has no gradient: no operand counts as having one

  const Type& type(size_t operand) const { return operands[operand].type; }
  bool is_zero(size_t operand) const { return operands[operand].number == 0.0; }
  bool has_gradient(size_t operand) const {
    return !value_only && operands[operand].has_gradient && is_float(type(operand).dtype);
  }
  /// State of an operand. I of a value without gradient counts as R.
  State state(size_t operand, const Axis& axis) const;
  /// The axes that any operand mentions, sorted.
  std::vector<Axis> axes() const;
  bool has_gradient() const;                      ///< of any operand
  void forget_gradients() { value_only = true; }  ///< I of an operand counts as R
  std::string word(size_t operand) const;         ///< "the table", "the ids": what it is called
};

State state(const Shape& shape, const Axis& axis);
/// The axes that any of the shapes mentions, sorted.
std::vector<Axis> axes_of(const std::vector<const Shape*>& shapes);

/// Refuses Max operands: no op but a collective accepts one (E0210).
void refuse_max(const Application& app);
/// Requires a scalar (at=, by=, key, index) to be the same on all devices (E0216).
void need_copy(const Application& app, size_t operand, const std::string& what);

/// The dtype of a result with its operands' dtype: the first operand that is not a number decides.
Dtype common_dtype(const Application& app);

}  // namespace shardproof::rules
