// fan_out: I becomes R, so that its gradient is summed (Megatron's f).
#include "spec/rules/collective.h"

namespace shardproof::rules {

void fan_out(Application& app) {
  const char* does = "fan_out turns {I} into a plain copy";
  const Moved axes = moved(app);
  if (!axes.added.empty()) not_its_work(app, axes.added, does);
  if (!axes.removed.empty()) not_its_work(app, axes.removed, does);
  std::vector<Axis> acted;  // I without gradient already counts as R, but may be written
  for (const auto& [axis, mark] : app.pattern.left[0].marks)
    if (mark == Mark::I && state(app.pattern.right, axis) == State::R) acted.push_back(axis);
  need_bystanders(app, acted);
  need_action(app, acted, does);
}

}  // namespace shardproof::rules
