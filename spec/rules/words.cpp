#include "spec/rules/words.h"

#include <algorithm>
#include <cstdint>

#include "spec/rules/fixes.h"

namespace shardproof::rules {

/// Dims and axes, without marks.
static std::string bare(const ir::Program& program, Shape shape) {
  shape.marks.clear();
  return show(program, shape);
}

std::string show(const ir::Program& program, const Type& type) {
  const std::string dtype = type.dtype == Dtype::number ? "" : to_string(type.dtype);
  return dtype + "[" + bare(program, type) + "]" + to_string(type.marks);
}

std::string show(const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes) text += (text.empty() ? "" : ", ") + axis;
  return text;
}

std::string arrow(const ir::Program& program, const Shape& left, const Shape& right) {
  const std::string from = show(program, left);
  return from + (from.empty() ? "" : " ") + "-> " + show(program, right);
}

std::string pattern_text(const Application& app, const ir::Pattern& pattern) {
  if (app.worked_dim)
    return left_text(app.program, pattern) + "; " +
           show(app.program, pattern.left.front().dims.at(*app.worked_dim).dim);
  if (app.left_only) return left_text(app.program, pattern);
  return elaborate::pattern_text(app.program, pattern);
}

std::string describe(State state, const Axis& axis) {
  switch (state) {
    case State::S:
      return "split over " + axis;
    case State::R:
      return "a copy on each device of " + axis;
    case State::I:
      return "{I_" + axis + "}, a copy whose gradient is a copy too";
    case State::U:
      return "unreduced over " + axis;
    case State::Max:
      break;
  }
  return "the maximum over " + axis + " of what the devices hold";
}

static std::string axes_difference(const ir::Program& program, const Split& actual,
                                   const Split& stated) {
  const std::string dim = show(program, stated.dim);
  if (stated.axes.empty())
    return "each device holds only its own part of " + dim + " over " + show(actual.axes);
  if (actual.axes.empty())
    return "each device holds all of " + dim + ", not only its own part over " + show(stated.axes);
  if (std::is_permutation(actual.axes.begin(), actual.axes.end(), stated.axes.begin(),
                          stated.axes.end()))
    return show(program, stated) + " is not " + show(program, actual) +
           ": neighbouring blocks of " + dim + " lie on neighbours along " + stated.axes.back() +
           " there, but here along " + actual.axes.back();
  return dim + " is split as " + show(program, actual) + ", not as " + show(program, stated);
}

static std::string mark_difference(const Axis& axis, State actual, State stated) {
  if (actual == State::U)
    return "each device of " + axis + " holds only one term: the value is the sum over " + axis;
  if (actual == State::Max)
    return "each device of " + axis +
           " holds only its own maximum: the value is the maximum over " + axis;
  if (stated == State::U)
    return "each device of " + axis + " holds the whole value: the sum over " + axis + " is |" +
           axis + "| times it";
  if (stated == State::Max) return "each device of " + axis + " holds the value itself";
  return "the value is the same, but its gradient is " +
         std::string(actual == State::I ? "already summed over " : "one term on each device of ") +
         axis;
}

std::string difference(const ir::Program& program, const Shape& actual, const Shape& stated) {
  if (actual.dims.size() != stated.dims.size())
    return "the value has the dims `" + bare(program, actual) + "`";
  for (size_t i = 0; i < actual.dims.size(); ++i) {
    if (!program.same_dim(actual.dims[i].dim, stated.dims[i].dim))
      return show(program, actual.dims[i].dim) + " is not " + show(program, stated.dims[i].dim);
    // A mark explains more than the axis list: {U_t} where M/t is stated needs a psum_scatter.
    if (actual.dims[i].axes == stated.dims[i].axes) continue;
    for (const Axis& axis : stated.dims[i].axes)
      if (state(actual, axis) == State::U) return mark_difference(axis, State::U, State::S);
    return axes_difference(program, actual.dims[i], stated.dims[i]);
  }
  Marks axes = actual.marks;
  axes.insert(stated.marks.begin(), stated.marks.end());
  for (const auto& [axis, unused] : axes)
    if (state(actual, axis) != state(stated, axis))
      return mark_difference(axis, state(actual, axis), state(stated, axis));
    else if (actual.marks.count(axis) != stated.marks.count(axis))
      return axis + " splits a dim here: then it has no mark";
  return "the names of the dims differ";
}

Refusal of_max(const Application& app, size_t operand) {
  std::vector<Axis> axes;
  for (const auto& [axis, mark] : app.type(operand).marks)
    if (mark == Mark::Max) axes.push_back(axis);
  return {.code = "E0210",
          .message = app.name + " of a value that is the maximum over " + show(axes),
          .label = "each device of " + show(axes) +
                   " holds only its own maximum; the value is the largest of them",
          .operand = operand,
          .fixes = {reduce_operand(app, operand, axes)},
          .axes = axes};
}

}  // namespace shardproof::rules
