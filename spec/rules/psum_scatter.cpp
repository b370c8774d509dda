// psum_scatter: U becomes split, at the end of a dim's list.
#include "spec/rules/collective.h"

namespace shardproof::rules {

void psum_scatter(Application& app) {
  const char* does = "psum_scatter adds over axes of {U} and puts them at the end of dims";
  const Moved axes = moved(app);
  if (!axes.removed.empty()) not_its_work(app, axes.removed, does);
  for (const Axis& axis : axes.added)
    if (before(app, axis) != State::U) no_sum(app, axis);
  need_bystanders(app, axes.added);
  need_action(app, axes.added, does);
}

}  // namespace shardproof::rules
