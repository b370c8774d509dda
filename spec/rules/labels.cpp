#include "spec/rules/labels.h"

#include <algorithm>

#include "spec/elaborate/names.h"
#include "spec/rules/fixes.h"
#include "spec/rules/words.h"

namespace shardproof::rules {

std::vector<Label> labels(const Application& app, size_t operand) {
  std::vector<Label> result;
  const std::vector<ir::Position>& positions = app.pattern.indices.left.at(operand);
  result.reserve(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    const auto leading = elaborate::leading(app.program, app.pattern.indices, positions[i]);
    for (ir::IndexId id : positions[i])
      result.push_back({id, id == leading ? app.type(operand).dims.at(i).axes : unsplit});
  }
  return result;
}

const Label* find(const std::vector<Label>& labels, ir::IndexId id) {
  for (const Label& label : labels)
    if (label.id == id) return &label;
  return nullptr;
}

bool on_the_right(const Application& app, ir::IndexId id) {
  for (const ir::Position& position : app.pattern.indices.right)
    if (std::count(position.begin(), position.end(), id)) return true;
  return false;
}

Dim shown(const Application& app, ir::IndexId id) {
  Name name = app.pattern.indices.all.at(id).name;
  std::erase_if(name, [](char c) { return c == '[' || c == ']' || c == '\''; });
  return Dim{{name}};
}

static Refusal not_leading(const Application& app, const Dim& group, ir::IndexId id,
                           const std::vector<Axis>& axes) {
  const std::string name = show(app.program, shown(app, id));
  return {.code = "E0212",
          .message = app.name + ": " + name + " is split over " + show(axes) +
                     ", but it is not the first factor of " + show(app.program, group),
          .label = "the part of each device would be scattered over " + show(app.program, group) +
                   ": only its first factor can be split",
          .operand = 0,
          .fixes = {advice("split the first factor of " + show(app.program, group) +
                           " instead (all_to_all), or gather " + name + " first")},
          .axes = axes};
}

std::optional<Refusal> axis_twice(const ir::Program& program, const Shape& shape) {
  std::vector<std::pair<const Axis*, const Dim*>> seen;
  const auto dim_of = [&](const Axis& axis) -> const Dim* {
    for (const auto& [other, dim] : seen)
      if (*other == axis) return dim;
    return nullptr;
  };
  for (const Split& split : shape.dims)
    for (const Axis& axis : split.axes) {
      if (const Dim* first = dim_of(axis))
        return Refusal{.code = "E0209",
                       .message = axis + " splits both " + show(program, *first) + " and " +
                                  show(program, split.dim),
                       .label = "each device of " + axis +
                                " would hold one diagonal block only: no device holds the "
                                "others",
                       .axes = {axis}};
      seen.emplace_back(&axis, &split.dim);
    }
  for (const auto& [axis, mark] : shape.marks)
    if (const Dim* split = dim_of(axis))
      return Refusal{.code = "E0209",
                     .message = axis + " splits " + show(program, *split) + " and is marked " +
                                to_string(Marks{{axis, mark}}),
                     .label = "what a device of " + axis + " holds is one part or one " +
                              (mark == Mark::U ? "summand" : "copy") + ", not both",
                     .axes = {axis}};
  return {};
}

Shape place(const Application& app, const AxesOf& axes_of) {
  Shape result = app.pattern.right;
  result.marks.clear();
  for (size_t i = 0; i < result.dims.size(); ++i) {
    const ir::Position& position = app.pattern.indices.right.at(i);
    const auto leading = elaborate::leading(app.program, app.pattern.indices, position);
    for (ir::IndexId id : position) {
      const std::vector<Axis>& axes = axes_of(id);
      if (id == leading)
        result.dims[i].axes = axes;
      else if (!axes.empty())
        refuse(not_leading(app, result.dims[i].dim, id, axes));
    }
  }
  if (auto refusal = axis_twice(app.program, result)) {
    refusal->message = app.name + ": " + refusal->message;
    refuse(std::move(*refusal));
  }
  return result;
}

Shape like_operand(const Application& app) {
  const std::vector<Label> known = labels(app, 0);
  return place(app, [&](ir::IndexId id) -> const std::vector<Axis>& {
    const Label* label = find(known, id);
    return label ? label->axes : unsplit;
  });
}

}  // namespace shardproof::rules
