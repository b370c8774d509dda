#include "spec/rules/combine.h"

#include <algorithm>

#include "spec/rules/fixes.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

/// `exp(p0 + p1) is not exp(p0) + exp(p1)`
std::string not_additive(const Application& app, size_t operand, size_t count) {
  const std::string& f = app.name;
  if (app.word(operand) == "the index")
    return "the index p0 + p1 names one entry, p0 and p1 name two";
  const bool symbol = f.front() == '`';
  auto applied = [&](const std::string& x) {
    if (symbol && count == 2) {
      const std::string name = f.substr(1, f.size() - 2);
      return operand ? "q " + name + " " + x : x + " " + name + " q";
    }
    return count < 2 ? f + "(" + x + ")" : operand ? f + "(q, " + x + ")" : f + "(" + x + ", q)";
  };
  auto summand = [&](const std::string& x) { return symbol ? "(" + applied(x) + ")" : applied(x); };
  return applied(symbol ? "(p0 + p1)" : "p0 + p1") + " is not " + summand("p0") + " + " +
         summand("p1");
}

/// The axes over which the operand is unreduced and the other operand, if any, is not.
static std::vector<Axis> sums(const Application& app, size_t operand, size_t other) {
  std::vector<Axis> axes;
  for (const auto& [axis, mark] : app.type(operand).marks)
    if (mark == Mark::U && (other == operand || app.state(other, axis) != State::U))
      axes.push_back(axis);
  return axes;
}

Refusal nonlinear_of_unreduced(const Application& app, size_t operand, const Axis& axis,
                               size_t count) {
  return {.code = "E0207",
          .message = app.name + " of a value that is unreduced over " + axis,
          .label = not_additive(app, operand, count) + ": each device of " + axis +
                   " holds only one term",
          .operand = operand,
          .fixes = {reduce_operand(app, operand, sums(app, operand, operand))},
          .axes = {axis}};
}

Refusal divided_by_unreduced(const Application& app, size_t operand, const Axis& axis) {
  return {.code = "E0213",
          .message = "division by a value that is unreduced over " + axis,
          .label = "x / (p0 + p1) is not x / p0 + x / p1",
          .operand = operand,
          .fixes = {reduce_operand(app, operand, sums(app, operand, operand))},
          .axes = {axis}};
}

Refusal counted_often(const Application& app, size_t summand, size_t other, const Axis& axis) {
  const std::string n = "|" + axis + "|";
  Refusal refusal{.code = "E0201",
                  .message = app.name + " of a value that is unreduced over " + axis +
                             " and one that is " + describe(app.state(other, axis), axis),
                  .operand = other,
                  .axes = {axis}};
  if (app.state(other, axis) == State::S) {
    refusal.label = app.word(summand) + " is a sum over " + axis + " and " + app.word(other) +
                    " a part of the value: what the devices add up has no meaning";
  } else {
    refusal.label = "each of the " + n + " devices of " + axis + " would add " + app.word(other) +
                    ", so it is counted " + n + " times";
    if (app.type(other).dtype != Dtype::number)
      refusal.fixes.push_back(keep_on_root(app, other, axis));
  }
  refusal.fixes.push_back(reduce_operand(app, summand, sums(app, summand, other)));
  return refusal;
}

Refusal two_unreduced(const Application& app, size_t first, size_t second, const Axis& axis) {
  return {.code = "E0202",
          .message = app.name + " of two values that are unreduced over " + axis,
          .label = "(p0 + p1) * (q0 + q1) is not p0*q0 + p1*q1: the devices of " + axis +
                   " do not hold the mixed products",
          .operand = second,
          .fixes = {reduce_operand(app, second, {axis}), reduce_operand(app, first, {axis})},
          .axes = {axis}};
}

Refusal unreduced_with_split(const Application& app, size_t summand, size_t split,
                             const Axis& axis) {
  return {.code = "E0202",
          .message = app.name + " of a value that is unreduced over " + axis +
                     " and one that is split over " + axis,
          .label = "each device of " + axis + " has one term of " + app.word(summand) +
                   " and one part of " + app.word(split) + ": every part needs every term",
          .operand = summand,
          .fixes = {reduce_operand(app, summand, {axis})},
          .axes = {axis}};
}

Refusal mixed_with_invariant(const Application& app, size_t invariant, size_t other,
                             const Axis& axis) {
  const std::string I = "{I_" + axis + "}";
  std::vector<FixHint> fixes = {fan_out_operand(app, invariant, axis)};
  if (app.state(other, axis) == State::R && app.type(other).dims.empty()) {
    Type to = app.type(other);
    to.marks[axis] = Mark::I;
    fixes.push_back(advice("or give " + app.word(other) + " the type `" + show(app.program, to) +
                           "`, if it is a parameter: its gradient is then summed over " + axis +
                           " too"));
  }
  return {.code = "E0203",
          .message = app.name + " of a value that is " + I + " and one that is " +
                     (app.state(other, axis) == State::R ? "a plain copy over " + axis
                                                         : describe(app.state(other, axis), axis)),
          .label = "the value is right, but each device of " + axis +
                   " computes only its own part of the gradient of " + app.word(invariant) +
                   ", and " + I + " says that it is already summed",
          .operand = invariant,
          .fixes = std::move(fixes),
          .axes = {axis},
          .gradient_only = true};
}

/// The state of the result if operand `first` is U on the axis. Throws Refused if there is none.
State with_unreduced(const Application& app, const Axis& axis, const std::vector<Role>& roles,
                     const std::vector<State>& states, size_t first) {
  const auto found = [&](State state, size_t from) {
    return static_cast<size_t>(
        std::find(states.begin() + static_cast<std::ptrdiff_t>(from), states.end(), state) -
        states.begin());
  };
  for (size_t i = first; i < roles.size(); ++i) {
    if (states[i] != State::U) continue;
    if (roles[i] == Role::argument) refuse(nonlinear_of_unreduced(app, i, axis, roles.size()));
    if (roles[i] == Role::divisor) refuse(divided_by_unreduced(app, i, axis));
  }
  for (size_t i = 0; i < roles.size(); ++i)
    if (roles[i] == Role::term && states[i] != State::U && !app.is_zero(i))
      refuse(counted_often(app, first, i, axis));
  const size_t second = found(State::U, first + 1), split = found(State::S, 0),
               invariant = found(State::I, 0);
  if (roles[first] == Role::factor && second < roles.size())
    refuse(two_unreduced(app, first, second, axis));
  if (split < roles.size()) refuse(unreduced_with_split(app, first, split, axis));
  if (invariant < roles.size()) refuse(mixed_with_invariant(app, invariant, first, axis));
  return State::U;
}

}  // namespace

State combine(const Application& app, const Axis& axis, const std::vector<Role>& roles) {
  std::vector<State> states;
  states.reserve(roles.size());
  for (size_t i = 0; i < roles.size(); ++i) {
    states.push_back(app.state(i, axis));
    if (states[i] == State::Max) refuse(of_max(app, i));
  }
  const auto first = [&](State state) {
    return static_cast<size_t>(std::find(states.begin(), states.end(), state) - states.begin());
  };
  const size_t unreduced = first(State::U), split = first(State::S), invariant = first(State::I);
  if (unreduced < roles.size()) return with_unreduced(app, axis, roles, states, unreduced);
  if (split < roles.size()) {
    if (invariant < roles.size()) refuse(mixed_with_invariant(app, invariant, split, axis));
    return State::S;
  }
  if (invariant == roles.size()) return State::R;
  for (size_t i = 0; i < roles.size(); ++i)
    if (states[i] == State::R && app.has_gradient(i))
      refuse(mixed_with_invariant(app, invariant, i, axis));
  return State::I;
}

Marks combine(const Application& app, const std::vector<Role>& roles) {
  Marks marks;
  for (const Axis& axis : app.axes()) {
    const State state = combine(app, axis, roles);
    if (state == State::U) marks[axis] = Mark::U;
    if (state == State::I) marks[axis] = Mark::I;
  }
  return marks;
}

}  // namespace shardproof::rules
