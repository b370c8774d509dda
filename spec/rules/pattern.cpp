#include "spec/rules/pattern.h"

#include <algorithm>
#include <utility>

#include "spec/rules/fixes.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

/// Fills in the left side's axes from the operand.
void infer_left(Shape& left, const Type& type) {
  for (size_t i = 0; i < left.dims.size(); ++i) left.dims[i].axes = type.dims.at(i).axes;
  left.marks = type.marks;
}

/// Fills in the right side's axes from the same positions on the left.
void infer_right(ir::Pattern& pattern) {
  const ir::Indices& indices = pattern.indices;
  for (size_t i = 0; i < pattern.right.dims.size(); ++i) {
    std::vector<Axis>& axes = pattern.right.dims[i].axes;
    axes.clear();
    for (size_t k = 0; k < indices.left.size(); ++k)
      for (size_t j = 0; j < indices.left[k].size(); ++j)
        if (axes.empty() && indices.left[k][j] == indices.right.at(i))
          axes = pattern.left[k].dims[j].axes;
  }
  pattern.right.marks.clear();
}

/// A pattern that reduces over the axes on which the operand is unreduced, and over no
/// others.
std::optional<FixHint> without_other_axes(const Application& app, size_t operand) {
  ir::Pattern pattern = app.pattern;
  if (pattern.inferred || operand >= pattern.left.size()) return {};
  Shape& left = pattern.left[operand];
  const Marks& held = app.type(operand).marks;
  if (held.empty() || left.dims.size() != app.type(operand).dims.size()) return {};
  const Marks stated = std::exchange(left.marks, held);
  for (const auto& [axis, mark] : held)
    if (mark != Mark::I && pattern.right.marks.count(axis)) return {};
  // `{U_d} -> {I_d}` of a value that is {U_t}: {I_t}
  const size_t alike = std::erase_if(pattern.right.marks, [&](const auto& each) {
    return each.second == Mark::I && stated.count(each.first) && !held.count(each.first);
  });
  for (const auto& [axis, mark] : held)
    if (alike && mark == Mark::U) pattern.right.marks[axis] = Mark::I;
  return FixHint{.kind = FixHint::Kind::replace_pattern,
                 .text = pattern_text(app, pattern),
                 .message = "reduce over the unreduced axes only",
                 .cost = 2};
}

void need_sum(const Application& app, size_t operand, const Shape& left) {
  if (app.name != "all_reduce" && app.name != "psum_scatter") return;
  for (const auto& [axis, mark] : left.marks) {
    const State actual = app.state(operand, axis);
    if (mark == Mark::I || actual == State::U || actual == State::Max) continue;
    const std::string n = "|" + axis + "|";
    std::vector<FixHint> fixes = instead(app, operand, app.pattern.right);
    if (auto hint = without_other_axes(app, operand)) fixes.push_back(*std::move(hint));
    refuse({.code = "E0205",
            .message = app.name + " over " + axis + " of a value that is " + describe(actual, axis),
            .label = actual == State::S
                         ? "it would add different parts of the value: gather them instead"
                     : mark == Mark::U
                         ? "each of the " + n +
                               " devices holds the whole value: the sum would be " + n + " times it"
                         : "each device holds the value: there is no maximum left to take",
            .operand = operand,
            .fixes = std::move(fixes),
            .axes = {axis}});
  }
}

bool only_marks_missing(const Marks& actual, const Marks& stated) {
  return std::all_of(actual.begin(), actual.end(), [&](const auto& mark) {
    auto found = stated.find(mark.first);
    return found == stated.end() || found->second == mark.second;
  });
}

/// The pattern with the real types of operand i and of those that differ from it as well, and its
/// axes and marks carried over to the right side.
std::vector<FixHint> corrections(const Application& app, size_t operand) {
  ir::Pattern pattern = app.pattern;
  Marks before, now;
  size_t others = 0;
  for (size_t each = operand; each < pattern.left.size() && each < app.operands.size(); ++each) {
    Shape& left = pattern.left[each];
    const Type& type = app.type(each);
    if (each != operand && (same_shape(app.program, type, left, app.has_gradient(each)) ||
                            !same_dims(app.program, type, left)))
      continue;
    others += each != operand;
    before.insert(left.marks.begin(), left.marks.end());
    now.insert(type.marks.begin(), type.marks.end());
    for (size_t i = 0; i < left.dims.size(); ++i) left.dims[i].axes = type.dims[i].axes;
    left.marks = type.marks;
  }
  FixHint plain{.kind = FixHint::Kind::replace_pattern,
                .operand = operand,
                .text = pattern_text(app, pattern),
                .message = others ? "state the operands' types in the pattern"
                                  : "state the operand's type in the pattern"};
  for (const auto& [axis, mark] : now)
    if (!before.count(axis)) pattern.right.marks.emplace(axis, mark);
  for (const auto& [axis, mark] : before)
    if (!now.count(axis)) pattern.right.marks.erase(axis);
  FixHint both = plain;
  both.text = pattern_text(app, pattern);
  both.message = "state this in the pattern and in its result";
  if (both.text == plain.text) return {plain};
  return {both, plain};
}

void need_left(const Application& app, size_t operand) {
  const Shape& left = app.pattern.left[operand];
  const Type& type = app.type(operand);
  const bool gradient = app.has_gradient(operand);
  if (same_shape(app.program, type, left, gradient)) return;
  const bool dims = same_dims(app.program, type, left);
  const Marks actual = visible_marks(type, gradient), stated = visible_marks(left, gradient);
  if (type.dims.size() == left.dims.size()) need_sum(app, operand, left);
  const bool marks = dims && (only_marks_missing(actual, stated));
  Refusal refusal{.code = marks ? "E0306" : "E0301",
                  .message = app.name + ": " + app.word(operand) + " is " +
                             show(app.program, type) + ", the pattern says `" +
                             show(app.program, left) + "`",
                  .label = difference(app.program, type, left),
                  .operand = operand};
  for (const Axis& axis : app.axes())
    if (state(type, axis) != state(left, axis)) refusal.axes.push_back(axis);
  if (type.dims.size() == left.dims.size()) {
    refusal.fixes = corrections(app, operand);
    for (FixHint& hint : convert_operand(app, operand, left)) refusal.fixes.push_back(hint);
  }
  refuse(std::move(refusal));
}

}  // namespace

Marks visible_marks(const Shape& shape, bool gradient) {
  Marks marks = shape.marks;
  if (!gradient) std::erase_if(marks, [](const auto& mark) { return mark.second == Mark::I; });
  return marks;
}

bool same_dims(const ir::Program& program, const Shape& a, const Shape& b) {
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [&](const Split& x, const Split& y) {
                      return x.axes == y.axes && program.same_dim(x.dim, y.dim);
                    });
}

bool same_shape(const ir::Program& program, const Shape& a, const Shape& b, bool gradient) {
  return same_dims(program, a, b) &&
         (gradient ? a.marks == b.marks : visible_marks(a, false) == visible_marks(b, false));
}

void complete(Application& app) {
  const ir::Pattern& pattern = app.pattern;
  const size_t count = std::min(pattern.left.size(), app.operands.size());
  const bool infers = pattern.inferred || pattern.left_inferred;
  for (size_t i = 0; i < count && infers; ++i) infer_left(app.completed.left[i], app.type(i));
  if (pattern.inferred) infer_right(app.completed);
  for (size_t i = 0; i < count && !infers; ++i) need_left(app, i);
}

State written(const Shape& right, const Axis& axis, bool gradient) {
  const State found = state(right, axis);
  return found == State::I && !gradient ? State::R : found;
}

std::optional<Refusal> unequal(const ir::Program& program, const std::string& code,
                               const std::string& message, const Shape& actual, const Shape& stated,
                               bool gradient) {
  if (same_shape(program, actual, stated, gradient)) return {};
  Refusal refusal{.code = code,
                  .message = message,
                  .label = difference(program, actual, stated),
                  .gradient_only = same_shape(program, actual, stated, false)};
  for (const Axis& axis : axes_of({&actual, &stated}))
    if (state(actual, axis) != state(stated, axis)) refusal.axes.push_back(axis);
  if (const auto hint = conversion(program, actual, stated)) refusal.fixes.push_back(*hint);
  return refusal;
}

Type conclude(Application& app, const Shape& computed, Dtype dtype, bool gradient) {
  const Shape& right = app.pattern.right;
  if (app.pattern.inferred) app.completed.right = computed;
  if (same_shape(app.program, computed, right, gradient)) {
    Type type;
    static_cast<Shape&>(type) = right;
    type.dtype = dtype;
    return type;
  }
  std::vector<Axis> dropped;
  for (const auto& [axis, mark] : computed.marks)
    if (mark != Mark::I && state(right, axis) != state(computed, axis)) dropped.push_back(axis);
  auto refusal = unequal(app.program, dropped.empty() ? "E0302" : "E0214",
                         app.name + ": the result is `" + show(app.program, computed) +
                             "`, the pattern says `" + show(app.program, right) + "`",
                         computed, right, gradient);
  ir::Pattern corrected = app.pattern;
  corrected.right = computed;
  const std::string text = pattern_text(app, corrected);
  for (FixHint& hint : refusal->fixes) hint.pattern = text;
  refusal->fixes.insert(
      refusal->fixes.begin(),
      {.kind = FixHint::Kind::replace_pattern, .text = text, .message = "state the result's type"});
  if (!dropped.empty()) refusal->axes = dropped;
  refuse(std::move(*refusal));
}

}  // namespace shardproof::rules
