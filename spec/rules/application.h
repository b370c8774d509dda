#pragma once
// One application of a rule: the op, its operands and its pattern as the rules see them, without
// unit axes. Internal to spec/rules.
#include <string>
#include <vector>

#include "spec/rules/rule.h"

namespace shardproof::rules {

/// State of a value on one mesh axis.
enum class State { R, I, U, Max, S };

/// Thrown by a rule, caught by apply_rule.
struct Refused {
  Refusal refusal;
};
[[noreturn]] void refuse(Refusal refusal);

using Types = std::vector<Type>;

struct Application {
  const ir::Program& program;
  std::string name;                ///< of the op, as written
  std::vector<std::string> words;  ///< "the table", "the ids": what each operand is called
  std::vector<Operand> operands;
  ir::Pattern pattern;     ///< completed by complete()
  ir::Indices indices;     ///< of the pattern, or of pointwise operands
  bool unit_axes = false;  ///< the pattern has axes of size 1: it may look as if nothing changed
  std::vector<Axis> unit_bracket;    ///< and those that its bracketed dim begins with
  std::optional<size_t> worked_dim;  ///< written after `;`, without `->`
  bool left_only = false;            ///< the pattern is written without `->`
  Types guess;                       ///< the result where there is a refusal

  const Type& type(size_t operand) const { return operands[operand].type; }
  bool is_zero(size_t operand) const { return operands[operand].number == 0.0; }
  /// State of an operand; I of a value without gradient reads as R.
  State state(size_t operand, const Axis& axis) const;
  /// The axes that some operand mentions, sorted.
  std::vector<Axis> axes() const;
  bool has_gradient() const;  ///< some operand has
  void forget_gradients();    ///< the op has no gradient: I of an operand reads as R
  const std::string& word(size_t operand) const;
};

State state(const Shape& shape, const Axis& axis);

/// Nothing is allowed of a Max value: E0210.
void refuse_max(const Application& app);
/// A scalar that must be the same on all devices (at=, by=, key, index): E0216.
void need_copy(const Application& app, size_t operand, const std::string& what);

/// The dtype of a result that has its operands' dtype: the first that is not a number.
Dtype common_dtype(const Application& app);

}  // namespace shardproof::rules
