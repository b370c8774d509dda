// rearrange: changes order, groups and names. No data moves between devices: an axis stays on its
// factor, and that factor is the first of its group.
#include <algorithm>

#include "spec/rules/fixes.h"
#include "spec/rules/pattern.h"
#include "spec/rules/product.h"
#include "spec/rules/table.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

/// Refuses an axis that the right side writes at another factor: data would have to move.
void same_places(const Application& app, const Shape& computed) {
  for (size_t i = 0; i < computed.dims.size(); ++i) {
    const Split &is = computed.dims[i], &written = app.pattern.right.dims[i];
    for (const Axis& axis : written.axes) {
      const bool stays = std::count(is.axes.begin(), is.axes.end(), axis) > 0;
      const std::vector<Axis> all = split_axes(computed);
      if (stays || !std::count(all.begin(), all.end(), axis)) continue;
      std::vector<FixHint> fixes;
      if (auto moved = conversion(app.program, computed, app.pattern.right)) {
        moved->pattern =
            show(app.program, app.pattern.left[0]) + " -> " + show(app.program, computed);
        moved->message = "all_to_all after it";
        fixes.push_back(*std::move(moved));
      }
      refuse({.code = "E0212",
              .message = "rearrange: the result is `" + show(app.program, computed) +
                         "`, the pattern says `" + show(app.program, app.pattern.right) + "`",
              .label = "to have " + axis + " split " + to_string(written.dim) +
                       ", devices would have to exchange data: all_to_all does that",
              .operand = 0,
              .fixes = std::move(fixes),
              .axes = {axis}});
    }
  }
}

}  // namespace

Types rule(Application& app, const ir::Rearrange&) {
  const Shape result = contract(app, {Role::factor});
  if (!app.pattern.inferred) same_places(app, result);
  return one(conclude(app, result, app.type(0).dtype, app.has_gradient()));
}

}  // namespace shardproof::rules
