// all_reduce: U or Max becomes a copy, R or I as written.
#include "spec/rules/collective.h"
#include "spec/rules/fixes.h"

namespace shardproof::rules {

void all_reduce(Application& app, ir::Applied applied) {
  const Moved axes = moved(app);
  if (!axes.removed.empty()) no_sum(app, axes.removed.front());
  if (!axes.added.empty())
    not_its_work(app, axes.added,
                 "all_reduce leaves a whole copy on each device; psum_scatter "
                 "leaves its own part");
  std::vector<Axis> acted;
  for (const auto& [axis, mark] : app.pattern.left[0].marks) {
    if (mark != Mark::I && is_copy(after(app, axis))) acted.push_back(axis);
    if (mark == Mark::I && after(app, axis) != before(app, axis)) no_sum(app, axis);
  }
  need_bystanders(app, acted);
  const bool field = app.pattern.left_inferred && applied != ir::Applied::to_tensor;
  if (acted.empty() && !app.unit_axes && !field)
    refuse({.code = "E0205",
            .message = "all_reduce of a value that is not unreduced",
            .label = "there is nothing to add: the sum of n copies is n times the value",
            .operand = 0,
            .fixes = instead(app, 0, app.pattern.right)});
}

}  // namespace shardproof::rules
