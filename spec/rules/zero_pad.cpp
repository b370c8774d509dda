// zero_pad: each device's part at its offset, with zeros elsewhere, is a sum.
#include "spec/rules/collective.h"

namespace shardproof::rules {

void zero_pad(Application& app) {
  const char* does = "zero_pad turns the last axes of dims into {U}";
  const Moved axes = moved(app);
  if (!axes.added.empty()) not_its_work(app, axes.added, does);
  for (const Axis& axis : axes.removed)
    if (after(app, axis) != State::U)
      not_its_work(app, {axis},
                   "each device of " + axis +
                       " holds zeros but for its own part: the value is the sum, {U_" + axis + "}");
  need_bystanders(app, axes.removed);
  need_action(app, axes.removed, does);
}

}  // namespace shardproof::rules
