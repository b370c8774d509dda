// index: reads entries of a table. The indexed dim must be whole.
#include "spec/rules/fixes.h"
#include "spec/rules/pattern.h"
#include "spec/rules/product.h"
#include "spec/rules/table.h"
#include "spec/rules/words.h"

namespace shardproof::rules {

static Refusal into_split(const Application& app, const Split& split) {
  ir::Pattern pattern = app.pattern;
  for (const Axis& axis : split.axes) pattern.right.marks[axis] = Mark::U;
  Shape whole = app.type(0);
  whole.dims[*app.pattern.left_bracket].axes.clear();
  Refusal refusal{.code = "E0211",
                  .message = app.name + " into " + show(app.program, split.dim) +
                             ", which is split over " + show(split.axes),
                  .label = "each device of " + show(split.axes) + " has only its own part of " +
                           show(app.program, split.dim) + ": most indices point to another device",
                  .operand = 0,
                  .axes = split.axes};
  refusal.fixes = {
      advice("use index_unreduced(\"" + pattern_text(app, pattern) + "\", ...), then reduce")};
  for (FixHint& hint : convert_operand(app, 0, whole)) refusal.fixes.push_back(hint);
  return refusal;
}

Types rule(Application& app, const ir::Index&) {
  const Split& indexed = app.pattern.left[0].dims.at(app.pattern.left_bracket.value_or(0));
  if (!indexed.axes.empty()) refuse(into_split(app, indexed));
  const Shape result = contract(app, {Role::factor, Role::argument});
  return one(conclude(app, result, app.type(0).dtype, app.has_gradient(0)));
}

}  // namespace shardproof::rules
