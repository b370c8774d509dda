#include "spec/rules/collective.h"

#include <algorithm>

#include "spec/rules/fixes.h"
#include "spec/rules/labels.h"
#include "spec/rules/pattern.h"
#include "spec/rules/table.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

bool begins(const std::vector<Axis>& list, const std::vector<Axis>& start) {
  return start.size() <= list.size() && std::equal(start.begin(), start.end(), list.begin());
}

void append_rest(std::vector<Axis>& to, const std::vector<Axis>& list, size_t from) {
  to.insert(to.end(), list.begin() + static_cast<std::ptrdiff_t>(from), list.end());
}

bool contains(const std::vector<Axis>& axes, const Axis& axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

}  // namespace

State before(const Application& app, const Axis& axis) {
  return written(app.pattern.left[0], axis, app.has_gradient());
}

State after(const Application& app, const Axis& axis) {
  return written(app.pattern.right, axis, app.has_gradient());
}

void not_its_work(const Application& app, const std::vector<Axis>& axes, const std::string& does) {
  const Shape& from = app.pattern.left[0];
  std::vector<FixHint> fixes;
  if (auto other = conversion(app.program, from, app.pattern.right)) {
    other->kind = FixHint::Kind::replace_op;
    other->message = other->text.substr(0, other->text.find('(')) + " instead of " + app.name;
    fixes.push_back(*std::move(other));
  }
  if (fixes.empty()) fixes = instead(app, 0, app.pattern.right);
  refuse({.code = "E0206",
          .message = app.name + " cannot make `" + show(app.program, app.pattern.right) + "` of `" +
                     show(app.program, from) + "`",
          .label = does,
          .fixes = std::move(fixes),
          .axes = axes});
}

Moved moved(const Application& app) {
  Moved result;
  for (size_t i = 0; i < app.pattern.right.dims.size(); ++i) {
    const Split &left = app.pattern.left[0].dims[i], &right = app.pattern.right.dims[i];
    if (left.axes == right.axes) continue;
    if (begins(right.axes, left.axes)) {
      append_rest(result.added, right.axes, left.axes.size());
      result.growing.push_back(i);
    } else if (begins(left.axes, right.axes)) {
      append_rest(result.removed, left.axes, right.axes.size());
      result.shrinking.push_back(i);
    } else {
      not_its_work(app, left.axes,
                   "only the last axes of a list can be removed or added: a device of " +
                       show(app.program, left) + " does not hold a part of one block of " +
                       show(app.program, right));
    }
  }
  if (auto refusal = axis_twice(app.program, app.pattern.right)) {
    refusal->message = app.name + ": " + refusal->message;
    Shape split = app.pattern.right;
    for (const Axis& axis : split_axes(split)) split.marks.erase(axis);
    refusal->fixes = instead(app, 0, split);
    refuse(std::move(*refusal));
  }
  return result;
}

void need_bystanders(const Application& app, const std::vector<Axis>& acted) {
  for (const Axis& axis : axes_of({&app.pattern.left[0], &app.pattern.right})) {
    const State was = before(app, axis), is = after(app, axis);
    if (was == is || contains(acted, axis)) continue;
    const bool dropped = was == State::U || was == State::Max;
    Shape kept = app.pattern.right;
    kept.marks.erase(axis);
    if (was != State::R && was != State::S) kept.marks[axis] = app.pattern.left[0].marks.at(axis);
    ir::Pattern corrected = app.pattern;
    corrected.right = kept;
    Refusal refusal{.code = dropped ? "E0214" : "E0302",
                    .message = app.name + ": the operand is " + describe(was, axis) +
                               ", and the pattern says that the result is " + describe(is, axis),
                    .label = difference(app.program, kept, app.pattern.right),
                    .fixes = instead(app, 0, app.pattern.right),
                    .axes = {axis},
                    .gradient_only = is_copy(was) && is_copy(is)};
    refusal.fixes.push_back({.kind = FixHint::Kind::replace_pattern,
                             .text = pattern_text(app, corrected),
                             .message = app.name + " leaves " + axis + " as it is"});
    refuse(std::move(refusal));
  }
}

void need_action(const Application& app, const std::vector<Axis>& acted, const char* does) {
  if (!acted.empty() || app.unit_axes) return;
  not_its_work(app, {}, std::string(does) + ": nothing changes here");
}

void no_sum(const Application& app, const Axis& axis) {
  const std::string n = "|" + axis + "|";
  const State state = before(app, axis);
  refuse({.code = "E0205",
          .message = app.name + " over " + axis + " of a value that is " + describe(state, axis),
          .label = state == State::Max
                       ? "the value is the largest of what the devices hold, not their sum"
                   : state == State::S
                       ? "it would add different parts of the value: all_gather puts them together"
                       : "each of the " + n + " devices holds the whole value: the sum would be " +
                             n + " times it",
          .operand = 0,
          .fixes = instead(app, 0, app.pattern.right),
          .axes = {axis}});
}

Types rule(Application& app, const ir::Collective& op) {
  switch (op.fn) {
    case ir::CollectiveFn::all_gather:
      all_gather(app);
      break;
    case ir::CollectiveFn::all_reduce:
      all_reduce(app, op.applied);
      break;
    case ir::CollectiveFn::psum_scatter:
      psum_scatter(app);
      break;
    case ir::CollectiveFn::all_to_all:
      all_to_all(app);
      break;
    case ir::CollectiveFn::slice:
      slice(app);
      break;
    case ir::CollectiveFn::fan_out:
      fan_out(app);
      break;
    case ir::CollectiveFn::zero_nonroot:
      zero_nonroot(app);
      break;
    case ir::CollectiveFn::zero_pad:
      zero_pad(app);
      break;
  }
  Type result;
  static_cast<Shape&>(result) = app.pattern.right;
  result.dtype = app.type(0).dtype;
  if (auto refusal = check_type(result)) refuse(std::move(*refusal));
  return one(std::move(result));
}

}  // namespace shardproof::rules
