#include "spec/rules/fixes.h"

#include <algorithm>
#include <set>

#include "spec/rules/pattern.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

/// The difference between two shapes with the same dims.
struct Change {
  std::vector<Axis> added, removed;   ///< at the ends of dims' axis lists
  size_t growing = 0, shrinking = 0;  ///< number of dims that gain or lose axes
  std::set<Axis> marks;               ///< axes that split no dim on either side and change state
  bool simple = true;                 ///< dims differ only at the ends of their axis lists
};

bool prefix(const std::vector<Axis>& a, const std::vector<Axis>& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

Change compare(const Shape& from, const Shape& to) {
  Change change;
  change.simple = from.dims.size() == to.dims.size();
  for (size_t i = 0; change.simple && i < from.dims.size(); ++i) {
    const std::vector<Axis>&a = from.dims[i].axes, &b = to.dims[i].axes;
    if (!(from.dims[i].dim == to.dims[i].dim) || (!prefix(a, b) && !prefix(b, a)))
      change.simple = false;
    else if (a.size() < b.size())
      ++change.growing, change.added.insert(change.added.end(), b.begin() + a.size(), b.end());
    else if (b.size() < a.size())
      ++change.shrinking,
          change.removed.insert(change.removed.end(), a.begin() + b.size(), a.end());
  }
  Marks axes = from.marks;
  axes.insert(to.marks.begin(), to.marks.end());
  for (const auto& [axis, unused] : axes)
    if (state(from, axis) != state(to, axis) && state(from, axis) != State::S &&
        state(to, axis) != State::S)
      change.marks.insert(axis);
  return change;
}

struct Choice {
  const char* name;
  int cost;
};

template <class Axes, class Test>
bool all(const Axes& axes, Test test) {
  return !axes.empty() && std::all_of(axes.begin(), axes.end(), test);
}

std::optional<Choice> choose(const Shape& from, const Shape& to) {
  const Change change = compare(from, to);
  if (!change.simple) return {};
  auto was = [&](State wanted) {
    return [&from, wanted](const Axis& axis) { return state(from, axis) == wanted; };
  };
  auto becomes = [&](State wanted) {
    return [&to, wanted](const Axis& axis) { return state(to, axis) == wanted; };
  };
  auto was_copy = [&](const Axis& axis) { return is_copy(state(from, axis)); };
  auto becomes_copy = [&](const Axis& axis) { return is_copy(state(to, axis)); };
  if (change.added.empty() && change.removed.empty()) {
    if (all(change.marks, becomes_copy) &&
        (all(change.marks, was(State::U)) || all(change.marks, was(State::Max))))
      return Choice{"all_reduce", 2};
    if (all(change.marks, was_copy) && all(change.marks, becomes(State::U)))
      return Choice{"zero_nonroot", 0};
    if (all(change.marks, was(State::I)) && all(change.marks, becomes(State::R)))
      return Choice{"fan_out", 0};
    return {};
  }
  if (!change.marks.empty()) return {};
  if (change.removed.empty()) {
    if (all(change.added, was(State::U))) return Choice{"psum_scatter", 1};
    if (all(change.added, was_copy)) return Choice{"slice", 0};
    return {};
  }
  if (change.added.empty()) {
    if (all(change.removed, becomes_copy)) return Choice{"all_gather", 1};
    if (all(change.removed, becomes(State::U))) return Choice{"zero_pad", 0};
    return {};
  }
  if (change.added == change.removed && change.growing == 1 && change.shrinking == 1)
    return Choice{"all_to_all", 1};
  return {};
}

FixHint wrap(const ir::Program& program, const Choice& choice, const Shape& from, const Shape& to) {
  FixHint hint;
  hint.kind = FixHint::Kind::wrap_result;
  hint.text = std::string(choice.name) + "(\"" + arrow(program, from, to) + "\", $)";
  hint.message = std::string(choice.name) + " first";
  hint.to_other_axes = choice.name == std::string_view("all_to_all");
  hint.cost = choice.cost;
  return hint;
}

/// The hint wrapped around operand i. A pattern that states the operand's type is changed to `to`.
FixHint around(const Application& app, size_t operand, FixHint hint, const Shape& to) {
  hint.kind = FixHint::Kind::wrap_operand;
  hint.operand = operand;
  ir::Pattern pattern = app.pattern;
  if (pattern.inferred || operand >= pattern.left.size()) return hint;
  Shape& left = pattern.left[operand];
  if (!same_shape(app.program, left, app.type(operand), app.has_gradient(operand))) return hint;
  for (size_t i = 0; i < left.dims.size(); ++i) left.dims[i].axes = to.dims[i].axes;
  left.marks = to.marks;
  hint.pattern = pattern_text(app, pattern);
  return hint;
}

/// `from`, split also over the axes of `to` on which `from` is U (`sums`), or is not.
Shape split_over(const Shape& from, const Shape& to, bool sums) {
  Shape result = from;
  for (size_t i = 0; i < std::min(from.dims.size(), to.dims.size()); ++i)
    for (const Axis& axis : to.dims[i].axes)
      if (const State was = state(from, axis); was != State::S && (was == State::U) == sums) {
        result.dims[i].axes.push_back(axis);
        result.marks.erase(axis);
      }
  return result;
}
Shape sums_taken(const Shape& from, const Shape& to) { return split_over(from, to, true); }
Shape copies_cut(const Shape& from, const Shape& to) { return split_over(from, to, false); }

/// `from`, each dim split only as far as `to` splits it by the same axes.
Shape common_split(const Shape& from, const Shape& to) {
  Shape result = from;
  for (size_t i = 0; i < std::min(from.dims.size(), to.dims.size()); ++i) {
    std::vector<Axis>& axes = result.dims[i].axes;
    const std::vector<Axis>& wanted = to.dims[i].axes;
    axes.erase(std::mismatch(axes.begin(), axes.end(), wanted.begin(), wanted.end()).first,
               axes.end());
  }
  return result;
}

}  // namespace

std::optional<FixHint> conversion(const ir::Program& program, const Shape& from, const Shape& to) {
  if (const auto choice = choose(from, to)) return wrap(program, *choice, from, to);
  const Shape between = common_split(from, to);
  const auto gather = choose(from, between), cut = choose(between, to);
  if (!gather || !cut) return {};
  FixHint hint = wrap(program, *cut, between, to);
  hint.text.replace(hint.text.find('$'), 1, wrap(program, *gather, from, between).text);
  hint.message = std::string(gather->name) + ", then " + cut->name;
  hint.to_other_axes = cut->name == std::string_view("slice");
  hint.cost = gather->cost + cut->cost;
  return hint;
}

std::vector<FixHint> convert_operand(const Application& app, size_t operand, const Shape& to) {
  if (const auto hint = conversion(app.program, app.type(operand), to))
    return {around(app, operand, *hint, to)};
  return {};
}

std::vector<FixHint> instead(const Application& app, size_t operand, const Shape& to) {
  const Type& from = app.type(operand);
  FixHint hint{.kind = FixHint::Kind::replace_op,
               .operand = operand,
               .text = "$",
               .message = "remove the " + app.name};
  if (same_shape(app.program, from, to, app.has_gradient(operand))) return {hint};
  if (const auto choice = choose(from, to)) {
    if (choice->name == app.name) return {};
    hint.text = wrap(app.program, *choice, from, to).text;
    hint.message = std::string(choice->name) + " instead of " + app.name;
    hint.cost = choice->cost;
    return {hint};
  }
  for (const Shape& between : {sums_taken(from, to), copies_cut(from, to)}) {
    const auto first = choose(from, between), second = choose(between, to);
    if (!first || !second) continue;
    hint.text = wrap(app.program, *second, between, to).text;
    hint.text.replace(hint.text.find('$'), 1, wrap(app.program, *first, from, between).text);
    hint.message = std::string(first->name) + ", then " + second->name;
    hint.cost = first->cost + second->cost;
    return {hint};
  }
  return {};
}

std::optional<FixHint> gather_operand(const Application& app, size_t operand, const Axis& axis) {
  const auto without = [&](Shape shape) {
    for (Split& split : shape.dims) std::erase(split.axes, axis);
    return shape;
  };
  const Shape to = without(app.type(operand));
  if (const auto choice = choose(app.type(operand), to); !choice || app.pattern.inferred) return {};
  FixHint hint =
      around(app, operand, wrap(app.program, {"all_gather", 1}, app.type(operand), to), to);
  ir::Pattern pattern = app.pattern;
  Shape& left = pattern.left[operand];  // its names stay: `T` for L
  if (left.dims.size() != to.dims.size()) return {};
  for (size_t i = 0; i < left.dims.size(); ++i) {
    const std::vector<Axis>& had = app.type(operand).dims[i].axes;
    for (Split& split : pattern.right.dims)
      if (split.dim == left.dims[i].dim && std::count(had.begin(), had.end(), axis))
        std::erase(split.axes, axis);
    left.dims[i].axes = to.dims[i].axes;
  }
  left.marks = to.marks;
  hint.pattern = pattern_text(app, pattern);
  hint.message = "gather over " + axis + " before " + app.name;
  return hint;
}

FixHint reduce_operand(const Application& app, size_t operand, const std::vector<Axis>& axes) {
  Shape to = app.type(operand);
  for (const Axis& axis : axes) to.marks.erase(axis);
  FixHint hint =
      around(app, operand, wrap(app.program, {"all_reduce", 2}, app.type(operand), to), to);
  hint.message = "reduce before " + app.name;
  return hint;
}

FixHint keep_on_root(const Application& app, size_t operand, const Axis& axis) {
  Shape to = app.type(operand);
  to.marks[axis] = Mark::U;
  FixHint hint =
      around(app, operand, wrap(app.program, {"zero_nonroot", 0}, app.type(operand), to), to);
  hint.message = "count it once: keep it on device 0 of " + axis + " only";
  return hint;
}

FixHint fan_out_operand(const Application& app, size_t operand, const Axis& axis) {
  Shape to = app.type(operand);
  to.marks.erase(axis);
  FixHint hint = around(app, operand, wrap(app.program, {"fan_out", 0}, app.type(operand), to), to);
  hint.message = "fan_out first: its gradient is then summed over " + axis;
  return hint;
}

FixHint advice(std::string message) {
  FixHint hint;
  hint.message = std::move(message);
  return hint;
}

}  // namespace shardproof::rules
