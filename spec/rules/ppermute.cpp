// ppermute: the blocks of a split dim, rotated over its first axis.
#include "spec/rules/pattern.h"
#include "spec/rules/table.h"
#include "spec/rules/words.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Ppermute&) {
  const Split& rolled = app.pattern.left[0].dims.at(app.pattern.left_bracket.value_or(0));
  if (rolled.axes.empty() && !app.unit_axes)
    refuse({.code = "E0206",
            .message = "ppermute of " + show(app.program, rolled.dim) + ", which is not split",
            .label = "each device holds all of " + show(app.program, rolled.dim) +
                     ": there are no blocks to pass on; roll rotates a whole dim",
            .operand = 0});
  need_copy(app, 1, "by=");
  return {conclude(app, app.pattern.left[0], app.type(0).dtype, app.operands[0].has_gradient)};
}

}  // namespace shardproof::rules
