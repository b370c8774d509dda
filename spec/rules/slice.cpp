// slice: each device keeps its own part of a copy.
#include "spec/rules/collective.h"
#include "spec/rules/fixes.h"
#include "spec/rules/words.h"

namespace shardproof::rules {

void slice(Application& app) {
  const char* does = "slice adds axes at the end of dims";
  const Moved axes = moved(app);
  if (!axes.removed.empty()) not_its_work(app, axes.removed, does);
  for (const Axis& axis : axes.added) {
    const State state = before(app, axis);
    if (is_copy(state)) continue;
    std::vector<FixHint> fixes = instead(app, 0, app.pattern.right);
    if (fixes.empty()) fixes.push_back(advice("psum_scatter adds and keeps a part"));
    fixes.push_back(reduce_operand(app, 0, {axis}));
    refuse({.code = "E0215",
            .message = "slice over " + axis + " of a value that is " + describe(state, axis),
            .label =
                "each device of " + axis + " would keep a different part, and only of its own term",
            .operand = 0,
            .fixes = std::move(fixes),
            .axes = {axis}});
  }
  need_bystanders(app, axes.added);
  need_action(app, axes.added, does);
}

}  // namespace shardproof::rules
