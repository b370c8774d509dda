#include "spec/rules/application.h"

#include <algorithm>
#include <set>

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

State Application::state(size_t operand, const Axis& axis) const {
  const State found = rules::state(type(operand), axis);
  return found == State::I && !operands[operand].has_gradient ? State::R : found;
}

std::vector<Axis> Application::axes() const {
  std::set<Axis> found;
  for (const Operand& operand : operands) {
    for (const Axis& axis : split_axes(operand.type)) found.insert(axis);
    for (const auto& [axis, unused] : operand.type.marks) found.insert(axis);
  }
  return {found.begin(), found.end()};
}

bool Application::has_gradient() const {
  return std::any_of(operands.begin(), operands.end(),
                     [](const Operand& operand) { return operand.has_gradient; });
}

void Application::forget_gradients() {
  for (Operand& operand : operands) operand.has_gradient = false;
}

const std::string& Application::word(size_t operand) const {
  static const std::string other = "the operand";
  return operand < words.size() ? words[operand] : other;
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
