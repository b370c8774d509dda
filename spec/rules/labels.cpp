#include "spec/rules/labels.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "spec/rules/fixes.h"
#include "spec/rules/words.h"

namespace shardproof::rules {

bool declared_one(const ir::Program& program, const Name& dim) {
  try {
    return program.size(Dim{{dim}}, {}) == 1;
  } catch (const std::logic_error&) {  // its size is a symbol
    return false;
  }
}

size_t leading_factor(const ir::Program& program, const Dim& dim) {
  for (size_t i = 0; i + 1 < dim.factors.size(); ++i)
    if (!declared_one(program, dim.factors[i])) return i;
  return dim.factors.empty() ? 0 : dim.factors.size() - 1;
}

std::vector<Label> labels(const ir::Program& program, const Shape& shape) {
  std::vector<Label> result;
  for (const Split& split : shape.dims) {
    const size_t leading = leading_factor(program, split.dim);
    for (size_t i = 0; i < split.dim.factors.size(); ++i)
      result.push_back({split.dim.factors[i], i == leading ? split.axes : std::vector<Axis>{}});
  }
  return result;
}

const Label* find(const std::vector<Label>& labels, const Name& name) {
  for (const Label& label : labels)
    if (label.name == name) return &label;
  return nullptr;
}

static Refusal not_leading(const Application& app, const Dim& group, size_t factor,
                           const std::vector<Axis>& axes) {
  const std::string name = show(app.program, Dim{{group.factors[factor]}});
  return {.code = "E0212",
          .message = app.name + ": " + name + " is split over " + show(axes) +
                     ", but it is not the first factor of " + show(app.program, group),
          .label = "the part of each device would be scattered over " + show(app.program, group) +
                   ": only its first factor can be split",
          .operand = 0,
          .fixes = {advice("split the first factor of " + show(app.program, group) +
                           " instead (all_to_all), or gather " + name + " before")},
          .axes = axes};
}

std::optional<Refusal> axis_twice(const ir::Program& program, const Shape& shape) {
  std::map<Axis, Split> seen;
  for (const Split& split : shape.dims)
    for (const Axis& axis : split.axes)
      if (auto [first, added] = seen.emplace(axis, split); !added)
        return Refusal{.code = "E0209",
                       .message = axis + " splits both " + show(program, first->second.dim) +
                                  " and " + show(program, split.dim),
                       .label = "each device of " + axis +
                                " would hold one diagonal block only: the blocks beside the "
                                "diagonal are nowhere",
                       .axes = {axis}};
  for (const auto& [axis, mark] : shape.marks)
    if (auto split = seen.find(axis); split != seen.end())
      return Refusal{.code = "E0209",
                     .message = axis + " splits " + show(program, split->second.dim) +
                                " and is marked " + to_string(Marks{{axis, mark}}),
                     .label = "what a device of " + axis + " holds is one part or one " +
                              (mark == Mark::U ? "summand" : "copy") + ", not both",
                     .axes = {axis}};
  return {};
}

Shape place(const Application& app, const Shape& dims,
            const std::function<std::vector<Axis>(const Dim&, size_t)>& axes_of) {
  Shape result = dims;
  result.marks.clear();
  for (Split& split : result.dims) {
    const size_t leading = leading_factor(app.program, split.dim);
    for (size_t i = 0; i < split.dim.factors.size(); ++i) {
      std::vector<Axis> axes = axes_of(split.dim, i);
      if (i == leading)
        split.axes = std::move(axes);
      else if (!axes.empty())
        refuse(not_leading(app, split.dim, i, axes));
    }
  }
  if (auto refusal = axis_twice(app.program, result)) {
    refusal->message = app.name + ": " + refusal->message;
    refuse(std::move(*refusal));
  }
  return result;
}

}  // namespace shardproof::rules
