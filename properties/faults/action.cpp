#include "properties/faults/action.h"

#include <algorithm>

namespace shardproof::faults {
namespace {

bool contains(const std::vector<Axis>& axes, const Axis& axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

std::optional<Mark> mark_of(const Shape& shape, const Axis& axis) {
  auto found = shape.marks.find(axis);
  return found == shape.marks.end() ? std::nullopt : std::optional(found->second);
}

/// What `list` has behind its common beginning with `other`.
std::vector<Axis> behind(const std::vector<Axis>& list, const std::vector<Axis>& other) {
  return {std::mismatch(list.begin(), list.end(), other.begin(), other.end()).first, list.end()};
}

}  // namespace

std::vector<Axis> Action::axes() const {
  std::vector<Axis> all;
  const auto add = [&](const Axis& axis) {
    if (!contains(all, axis)) all.push_back(axis);
  };
  for (const auto* lists : {&removed, &added})
    for (const auto& list : *lists)
      for (const Axis& axis : list) add(axis);
  for (const auto& [axis, mark] : marks) add(axis);
  return all;
}

Action action_of(const ir::Pattern& pattern) {
  const Shape &left = pattern.left.at(0), &right = pattern.right;
  Action action;
  for (size_t i = 0; i < left.dims.size() && i < right.dims.size(); ++i) {
    action.removed.push_back(behind(left.dims[i].axes, right.dims[i].axes));
    action.added.push_back(behind(right.dims[i].axes, left.dims[i].axes));
  }
  std::vector<Axis> all = action.axes();
  for (const Shape* shape : {&left, &right})
    for (const auto& [axis, mark] : shape->marks)
      if (mark_of(left, axis) != mark_of(right, axis)) all.push_back(axis);
  for (const Axis& axis : all) action.marks[axis] = mark_of(right, axis);
  return action;
}

ir::Pattern applied(const Action& action, const Shape& operand, const ir::Pattern& original) {
  ir::Pattern pattern = original;
  Shape right = operand;
  const size_t count = std::min(right.dims.size(), action.removed.size());
  for (size_t i = 0; i < count; ++i) {
    pattern.left.at(0).dims.at(i).axes = operand.dims[i].axes;
    right.dims[i].dim = original.right.dims.at(i).dim;
    std::vector<Axis>& axes = right.dims[i].axes;
    while (!axes.empty() && contains(action.removed[i], axes.back())) axes.pop_back();
  }
  pattern.left[0].marks = operand.marks;
  for (size_t i = 0; i < count; ++i)
    for (const Axis& axis : action.added[i])
      if (!contains(split_axes(right), axis)) right.dims[i].axes.push_back(axis);
  for (const auto& [axis, mark] : action.marks) {
    right.marks.erase(axis);
    if (mark && !contains(split_axes(right), axis)) right.marks[axis] = *mark;
  }
  pattern.right = std::move(right);
  return pattern;
}

}  // namespace shardproof::faults
