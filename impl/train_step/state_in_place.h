#pragma once
#include "impl/compile/compile_plan.h"
#include "impl/train_step/roles.h"

namespace shardproof {

/// The options for a training step whose new state overwrites the old one, see Plan::update().
PlanOptions state_in_place(PlanOptions options, const StepRoles& roles);

}  // namespace shardproof
