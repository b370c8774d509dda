// zero_nonroot: a copy, kept on device 0 only and 0 elsewhere, is a sum.
#include "spec/rules/collective.h"

namespace shardproof::rules {

void zero_nonroot(Application& app) {
  const char* does = "zero_nonroot turns a copy into {U}: device 0 keeps it, the others hold 0";
  const Moved axes = moved(app);
  if (!axes.added.empty()) not_its_work(app, axes.added, does);
  if (!axes.removed.empty()) not_its_work(app, axes.removed, does);
  std::vector<Axis> acted;
  for (const auto& [axis, mark] : app.pattern.right.marks)
    if (mark == Mark::U && is_copy(before(app, axis))) acted.push_back(axis);
  need_bystanders(app, acted);
  need_action(app, acted, does);
}

}  // namespace shardproof::rules
