// all_gather: removes the last axes of one or more dims; the result is R or I, as written.
#include "spec/rules/collective.h"

namespace shardproof::rules {

void all_gather(Application& app) {
  const char* does = "all_gather removes the last axes of dims";
  const Moved axes = moved(app);
  if (!axes.added.empty()) not_its_work(app, axes.added, does);
  for (const Axis& axis : axes.removed)
    if (after(app, axis) != State::R && after(app, axis) != State::I)
      not_its_work(app, {axis},
                   "a gathered value is whole on each device of " + axis +
                       ", not unreduced; zero_pad gives an unreduced one");
  need_bystanders(app, axes.removed);
  need_action(app, axes.removed, does);
}

}  // namespace shardproof::rules
