// ppermute: rotates the blocks of a split dim over its first axis.
#include "spec/rules/pattern.h"
#include "spec/rules/table.h"
#include "spec/rules/words.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Ppermute&) {
  const Split& rolled = app.pattern.left[0].dims.at(app.pattern.left_bracket.value_or(0));
  // Over an axis of size 1 nothing moves. But [L/c/t] without c would rotate over t.
  if (!app.unit_bracket.empty() && !rolled.axes.empty())
    refuse({.code = "E0206",
            .message = "ppermute over " + app.unit_bracket.front() + ", which has size 1",
            .label = "one device is no ring: write only the axis to rotate over"});
  if (rolled.axes.empty() && app.unit_bracket.empty())
    refuse({.code = "E0206",
            .message = "ppermute of " + show(app.program, rolled.dim) + ", which is not split",
            .label = "each device holds all of " + show(app.program, rolled.dim) +
                     ": there are no blocks to pass on; roll rotates a whole dim",
            .operand = 0});
  need_copy(app, 1, "by=");
  return one(conclude(app, app.pattern.left[0], app.type(0).dtype, app.has_gradient(0)));
}

}  // namespace shardproof::rules
