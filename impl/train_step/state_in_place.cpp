#include "impl/train_step/state_in_place.h"

namespace shardproof {

PlanOptions state_in_place(PlanOptions options, const StepRoles& roles) {
  options.in_place.clear();
  for (const StateGroup& group : roles.state)
    for (size_t i = 0; i < group.count; ++i)
      options.in_place.emplace_back(group.param + i, group.result + i);
  return options;
}

}  // namespace shardproof
