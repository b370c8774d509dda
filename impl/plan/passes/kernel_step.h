#pragma once
// For tests of passes: a step that runs one kernel.
#include "impl/plan/steps.h"

namespace shardproof::plan {

inline Step kernel_step(const std::string& op, KernelOp kernel, const Ref& to,
                        const std::vector<Ref>& from) {
  Step step;
  step.op = op;
  step.kernel = {std::move(kernel), to, from};
  step.writes = {to.buffer};
  for (const Ref& each : from) step.reads.push_back(each.buffer);
  return step;
}

}  // namespace shardproof::plan
