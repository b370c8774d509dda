#include "spec/rules/split.h"

#include <algorithm>

#include "spec/elaborate/names.h"
#include "spec/rules/fixes.h"
#include "spec/rules/labels.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

/// The type of `operand`, with the indices that it shares with `other` split as they are there.
Shape aligned(const Application& app, size_t operand, size_t other) {
  Shape shape = app.type(operand);
  const std::vector<Label> model = labels(app, other);
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    const auto leading = elaborate::leading(app.program, app.pattern.indices,
                                            app.pattern.indices.left.at(operand).at(i));
    if (const Label* label = leading ? find(model, *leading) : nullptr)
      shape.dims[i].axes = label->axes;
  }
  for (const Axis& axis : split_axes(shape)) shape.marks.erase(axis);
  return shape;
}

}  // namespace

Refusal split_differently(const Application& app, size_t operand, size_t other, ir::IndexId id) {
  auto axes = [&](size_t i) {
    const std::vector<Label> own = labels(app, i);
    const Label* label = find(own, id);
    return label ? label->axes : unsplit;
  };
  const Dim dim = shown(app, id);
  auto says = [&](size_t i) {
    const std::vector<Axis> list = axes(i);
    return app.word(i) + (list.empty() ? " has all of " + show(app.program, dim)
                                       : " has " + show(app.program, Split{dim, list}));
  };
  Refusal refusal{
      .code = "E0204",
      .message = app.name + ": " + show(app.program, dim) + " is split differently in its operands",
      .label = says(operand) + ", " + says(other) +
               ": a device would combine different entries of the two",
      .operand = operand};
  refusal.axes = axes(operand);
  for (const Axis& axis : axes(other))
    if (!std::count(refusal.axes.begin(), refusal.axes.end(), axis)) refusal.axes.push_back(axis);
  for (auto [from, to] : {std::pair{operand, other}, {other, operand}})
    for (FixHint& hint : convert_operand(app, from, aligned(app, from, to)))
      refusal.fixes.push_back(hint);
  std::stable_sort(refusal.fixes.begin(), refusal.fixes.end(),
                   [](const FixHint& a, const FixHint& b) { return a.cost < b.cost; });
  return refusal;
}

void need_alike(const Application& app, size_t operand, size_t other) {
  const std::vector<Label> model = labels(app, other);
  for (const Label& label : labels(app, operand))
    if (const Label* same = find(model, label.id); same && same->axes != label.axes)
      refuse(split_differently(app, operand, other, label.id));
}

void need_whole(const Application& app, size_t operand, const Split& split, const std::string& code,
                const std::vector<std::string>& advices) {
  if (split.axes.empty()) return;
  Shape to = app.type(operand);
  for (Split& each : to.dims)
    if (each.axes == split.axes) each.axes.clear();
  Refusal refusal{.code = code,
                  .message = app.name + " over " + show(app.program, split.dim) +
                             ", which is split over " + show(split.axes),
                  .label = "each device of " + show(split.axes) + " has only its own part of " +
                           show(app.program, split.dim),
                  .operand = operand,
                  .axes = split.axes};
  if (app.pattern.inferred)
    refusal.fixes.push_back(advice("gather " + show(app.program, split.dim) + " first"));
  else
    refusal.fixes = convert_operand(app, operand, to);
  for (const std::string& text : advices) refusal.fixes.push_back(advice(text));
  refuse(std::move(refusal));
}

void need_copy_to_split(const Application& app, size_t operand, const Axis& axis) {
  const State state = app.state(operand, axis);
  if (state == State::R) return;
  Refusal refusal{.code = state == State::I   ? "E0203"
                          : state == State::S ? "E0209"
                                              : "E0215",
                  .message = app.name + " to a dim that is split over " + axis + ": " +
                             app.word(operand) + " is " + describe(state, axis),
                  .operand = operand,
                  .axes = {axis}};
  if (state == State::I) {
    refusal.label = "each device of " + axis +
                    " uses it for another part, so its gradient is one term on each device, "
                    "not yet summed";
    refusal.fixes = {fan_out_operand(app, operand, axis)};
    refusal.gradient_only = true;
  } else if (state == State::S) {
    refusal.label = "each device of " + axis + " would hold one diagonal block only";
  } else {
    refusal.label = "each device of " + axis + " keeps a different part, and only of its own term";
    refusal.fixes = {reduce_operand(app, operand, {axis})};
  }
  refuse(std::move(refusal));
}

}  // namespace shardproof::rules
