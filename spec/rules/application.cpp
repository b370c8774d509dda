#include "spec/rules/application.h"

#include <algorithm>

#include "spec/rules/words.h"

namespace shardproof::rules {

void refuse(Refusal refusal) { throw Refused{std::move(refusal)}; }

State state(const Shape& shape, const Axis& axis) {
  for (const Split& split : shape.dims)
    if (std::find(split.axes.begin(), split.axes.end(), axis) != split.axes.end()) return State::S;
  auto mark = shape.marks.find(axis);
  if (mark == shape.marks.end()) return State::R;
  return mark->second == Mark::U ? State::U : mark->second == Mark::I ? State::I : State::Max;
}

std::vector<Axis> axes_of(const std::vector<const Shape*>& shapes) {
  std::vector<Axis> found;
  for (const Shape* shape : shapes) {
    for (const Split& split : shape->dims)
      found.insert(found.end(), split.axes.begin(), split.axes.end());
    for (const auto& [axis, unused] : shape->marks) found.push_back(axis);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

State Application::state(size_t operand, const Axis& axis) const {
  const State found = rules::state(type(operand), axis);
  return found == State::I && !has_gradient(operand) ? State::R : found;
}

std::vector<Axis> Application::axes() const {
  std::vector<const Shape*> types;
  for (const Operand& operand : operands) types.push_back(&operand.type);
  return axes_of(types);
}

bool Application::has_gradient() const {
  for (size_t i = 0; i < operands.size(); ++i)
    if (has_gradient(i)) return true;
  return false;
}

std::string Application::word(size_t operand) const {
  std::vector<std::string> words;
  if (std::holds_alternative<ir::Binary>(op))
    words = {"the left operand", "the right operand"};
  else if (std::holds_alternative<ir::Where>(op))
    words = {"the condition", "the first choice", "the second choice"};
  else if (std::holds_alternative<ir::Index>(op) || std::holds_alternative<ir::IndexUnreduced>(op))
    words = {"the table", "the index"};
  else if (std::holds_alternative<ir::IndexAdd>(op))
    words = {"the index", "what is added"};
  else if (std::holds_alternative<ir::Write>(op))
    words = {"the tensor", "what is written", "at="};
  else if (const size_t count = ir::pattern_of(op) ? pattern.left.size() : operands.size();
           count > 1 && operand < count)
    return "operand " + std::to_string(operand + 1);
  return operand < words.size() ? words[operand] : "the operand";
}

void refuse_max(const Application& app) {
  for (size_t i = 0; i < app.operands.size(); ++i)
    for (const auto& [axis, mark] : app.type(i).marks)
      if (mark == Mark::Max) refuse(of_max(app, i));
}

void need_copy(const Application& app, size_t operand, const std::string& what) {
  if (operand >= app.operands.size()) return;
  for (const Axis& axis : app.axes())
    if (app.state(operand, axis) != State::R && app.state(operand, axis) != State::I)
      refuse({.code = "E0216",
              .message = app.name + ": " + what + " differs between the devices of " + axis,
              .label = what + " is " + show(app.program, app.type(operand)) + ": each device of " +
                       axis + " would use another number",
              .operand = operand,
              .axes = {axis}});
}

Dtype common_dtype(const Application& app) {
  for (const Operand& operand : app.operands)
    if (operand.type.dtype != Dtype::number) return operand.type.dtype;
  return Dtype::number;
}

}  // namespace shardproof::rules
