#include "spec/rules/rule.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "spec/rules/application.h"
#include "spec/rules/labels.h"
#include "spec/rules/pattern.h"
#include "spec/rules/table.h"
#include "spec/rules/words.h"

namespace shardproof {
namespace {

using rules::Application;
using rules::Types;

bool unit(const ir::Program& program, const Axis& axis) {
  auto found = program.axes.find(axis);
  return found != program.axes.end() && found->second.size == 1;
}

bool has_unit_axes(const ir::Program& program) {
  return std::any_of(program.axes.begin(), program.axes.end(),
                     [](const auto& axis) { return axis.second.size == 1; });
}

/// Drops the axes of size 1; returns whether there were any.
bool strip(const ir::Program& program, Shape& shape) {
  auto is_unit = [&](const Axis& axis) { return unit(program, axis); };
  size_t dropped = 0;
  for (Split& split : shape.dims) dropped += std::erase_if(split.axes, is_unit);
  return dropped +
         std::erase_if(shape.marks, [&](const auto& mark) { return is_unit(mark.first); });
}

bool strip(const ir::Program& program, ir::Pattern& pattern) {
  bool dropped = strip(program, pattern.right);
  for (Shape& left : pattern.left) dropped |= strip(program, left);
  return dropped;
}

/// The leading axes of the bracketed dim that have size 1.
std::vector<Axis> unit_bracket(const ir::Program& program, const ir::Pattern& pattern) {
  if (!pattern.left_bracket) return {};
  std::vector<Axis> axes =
      pattern.left.at(pattern.bracket_operand).dims.at(*pattern.left_bracket).axes;
  axes.erase(std::find_if(axes.begin(), axes.end(),
                          [&](const Axis& axis) { return !unit(program, axis); }),
             axes.end());
  return axes;
}

/// The op without axes of size 1.
ir::Op stripped(const ir::Program& program, ir::Op op) {
  std::visit(
      [&](auto& each) {
        if constexpr (requires { each.created; }) strip(program, each.created.shape);
        if constexpr (requires { each.marks; })
          std::erase_if(each.marks, [&](const auto& mark) { return unit(program, mark.first); });
        if constexpr (std::is_same_v<std::decay_t<decltype(each)>, ir::Ascribe>)
          strip(program, each.type);
      },
      op);
  return op;
}

std::vector<Operand> stripped(const ir::Program& program, std::vector<Operand> operands) {
  for (Operand& operand : operands) strip(program, operand.type);
  return operands;
}

/// A symbol such as `+` is quoted, so that it stands out in a sentence.
std::string quoted(const std::string& name) {
  return std::isalpha(static_cast<unsigned char>(name[0])) ? name : "`" + name + "`";
}

/// A result with the right dtype, from the rule, the pattern or the first operand, to continue
/// after an error.
Types first_guess(const Application& app, const ir::Op& op) {
  if (!app.guess.empty()) return app.guess;
  if (!ir::pattern_of(op)) return {app.operands.empty() ? Type{} : app.type(0)};
  Type guess;
  static_cast<Shape&>(guess) = app.pattern.right;
  guess.dtype = rules::common_dtype(app);
  if (const auto* einsum = std::get_if<ir::Einsum>(&op))
    guess.dtype = einsum->to.value_or(guess.dtype);
  if (const auto* reduce = std::get_if<ir::Reduce>(&op))
    guess.dtype = reduce->to.value_or(guess.dtype);
  if (std::holds_alternative<ir::IndexAdd>(op) && app.operands.size() > 1)
    guess.dtype = app.type(1).dtype;
  const auto* ordered = std::get_if<ir::Ordered>(&op);
  if (std::holds_alternative<ir::Argmax>(op) || (ordered && ordered->fn == ir::OrderedFn::argsort))
    guess.dtype = Dtype::i32;
  Types types{guess};
  if (std::holds_alternative<ir::TopK>(op)) {
    types.push_back(guess);
    types.back().dtype = Dtype::i32;
  }
  return types;
}

Types dispatch(Application& app, const ir::Op& op) {
  return std::visit(
      [&](const auto& each) -> Types {
        if constexpr (requires { rules::rule(app, each); })
          return rules::rule(app, each);
        else
          return {};  // spec/check handles loops, calls and gradients
      },
      op);
}

/// How many operands an op without a pattern needs.
struct Count {
  size_t operator()(const ir::Unary&) const { return 1; }
  size_t operator()(const ir::Binary&) const { return 2; }
  size_t operator()(const ir::Where&) const { return 3; }
  size_t operator()(const ir::Cast&) const { return 1; }
  size_t operator()(const ir::StopGrad&) const { return 1; }
  size_t operator()(const ir::Save&) const { return 1; }
  size_t operator()(const ir::Ascribe&) const { return 1; }
  size_t operator()(const ir::Entry&) const { return 1; }
  template <class Other>
  size_t operator()(const Other&) const {
    return 0;
  }
};

size_t operands_of(const ir::Op& op) {
  if (const ir::Pattern* pattern = ir::pattern_of(op)) return pattern->left.size();
  return std::visit(Count{}, op);
}

}  // namespace

RuleResult apply_rule(const ir::Program& program, const ir::Op& op,
                      const std::vector<Operand>& operands) {
  RuleResult result;
  if (operands.size() < operands_of(op)) return result;
  const ir::Pattern* pattern = ir::pattern_of(op);
  if (pattern && pattern->indices.left.size() != pattern->left.size())
    throw std::logic_error("a pattern without indices: elaborate() was not called");
  const bool units = has_unit_axes(program);
  const bool as_written = pattern && !units && !pattern->inferred && !pattern->left_inferred;
  if (pattern && !as_written) result.completed = *pattern;
  const std::vector<Operand> wide = units ? stripped(program, operands) : std::vector<Operand>();
  Application app{.program = program,
                  .op = op,
                  .name = quoted(ir::name_of(op)),
                  .operands = units ? wide : operands,
                  .pattern = as_written ? *pattern : result.completed,
                  .completed = result.completed};
  if (pattern && units) {
    app.unit_axes = strip(program, app.completed) || pattern->left_inferred;
    app.unit_bracket = unit_bracket(program, *pattern);
  }
  app.left_only = std::holds_alternative<ir::Roll>(op) || std::holds_alternative<ir::Rev>(op);
  if (const auto* ordered = std::get_if<ir::Ordered>(&op)) app.worked_dim = ordered->dim;
  try {
    if (pattern) rules::complete(app);
    result.types = units ? dispatch(app, stripped(program, op)) : dispatch(app, op);
  } catch (rules::Refused& refused) {
    std::vector<FixHint>& fixes = refused.refusal.fixes;
    std::stable_sort(fixes.begin(), fixes.end(),
                     [](const FixHint& a, const FixHint& b) { return a.cost < b.cost; });
    result.types = first_guess(app, op);
    result.refusal = std::move(refused.refusal);
  }
  return result;
}

std::optional<Refusal> check_type(const Type& type) {
  static const ir::Program none;
  if (auto refusal = rules::axis_twice(none, type)) return refusal;
  bool sum = false, maximum = false;
  for (const auto& [axis, mark] : type.marks) {
    sum = sum || mark == Mark::U;
    maximum = maximum || mark == Mark::Max;
  }
  if (!sum || !maximum) return {};
  std::vector<Axis> axes;
  for (const auto& [axis, mark] : type.marks)
    if (mark != Mark::I) axes.push_back(axis);
  return Refusal{.code = "E0110",
                 .message = to_string(type) + " has both {U} and {Max}",
                 .label = "the sum of maxima is not the maximum of sums: which one is the value?",
                 .axes = axes};
}

Type without_unit_axes(const ir::Program& program, Type type) {
  strip(program, type);
  return type;
}

bool same_type(const ir::Program& program, const Type& a, const Type& b) {
  return a == b || without_unit_axes(program, a) == without_unit_axes(program, b);
}

}  // namespace shardproof
