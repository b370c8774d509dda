// total: the sum of a record's scalars. On a marked axis, a field that is a copy counts on device 0
// only.
#include "spec/rules/combine.h"
#include "spec/rules/fixes.h"
#include "spec/rules/table.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

Refusal twice(const Application& app, size_t field, const Axis& axis, Marks marks) {
  for (const Operand& operand : app.operands)
    for (const auto& [each, mark] : operand.type.marks)
      if (mark == Mark::U) marks[each] = mark;
  const std::string text = to_string(marks), n = "|" + axis + "|";
  FixHint once = advice("count it once, `total(\"" + text + "\", ...)`");
  once.kind = FixHint::Kind::replace_pattern;
  once.text = text;
  return {.code = "E0201",
          .message =
              "total of fields of which some are unreduced over " + axis + " and some are copies",
          .label = "each of the " + n + " devices of " + axis + " would add field " +
                   std::to_string(field + 1) + ", so it counts " + n + " times",
          .operand = field,
          .fixes = {once},
          .axes = {axis}};
}

}  // namespace

Types rule(Application& app, const ir::Total& op) {
  Type result;
  result.dtype = common_dtype(app);
  result.marks = op.marks;
  app.guess = {result};
  for (const auto& [axis, mark] : op.marks)
    if (mark != Mark::U)
      refuse({.code = "E0110",
              .message = "total with the mark " + to_string(Marks{{axis, mark}}),
              .label = "a total is a sum: it can be {U_" + axis + "} only",
              .axes = {axis}});
  refuse_max(app);
  for (size_t i = 0; i < app.operands.size(); ++i)
    if (!app.type(i).dims.empty())
      refuse({.code = "E0305",
              .message = "total of " + show(app.program, app.type(i)) + ", which is no scalar",
              .operand = i});
  const std::vector<Role> terms(app.operands.size(), Role::term);
  for (const Axis& axis : app.axes()) {
    if (result.marks.count(axis)) continue;
    bool unreduced = false;
    for (size_t i = 0; i < app.operands.size(); ++i)
      unreduced = unreduced || app.state(i, axis) == State::U;
    for (size_t i = 0; unreduced && i < app.operands.size(); ++i)
      if (app.state(i, axis) != State::U && !app.is_zero(i)) refuse(twice(app, i, axis, op.marks));
    const State state = combine(app, axis, terms);
    if (state == State::U) result.marks[axis] = Mark::U;
    if (state == State::I) result.marks[axis] = Mark::I;
  }
  return one(std::move(result));
}

}  // namespace shardproof::rules
