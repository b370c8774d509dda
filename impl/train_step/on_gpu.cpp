#include "impl/train_step/on_gpu.h"

#include "impl/device/planned.h"

namespace shardproof {

PlanOptions on_gpu(PlanOptions options, const StepRoles* roles) {
  options.unroll = options.overlap ? 2 : 1;
  options.in_place.clear();
  if (!roles) return options;
  for (const StateGroup& group : roles->state)
    for (size_t i = 0; i < group.count; ++i)
      options.in_place.emplace_back(group.param + i, group.result + i);
  return options;
}

StepMemory memory_on_gpu(const Program& program, const Name& name, const Mesh& mesh,
                         const DimSizes& dims, PlanOptions options) {
  options.device = planned_device();
  const std::optional<StepRoles> roles = roles_of_step(program, program.plan(name));
  const Plan plan =
      compile_plan(program, name, mesh, dims, 0, on_gpu(options, roles ? &*roles : nullptr));
  StepMemory memory;
  memory.between = plan.arena_bytes();
  for (const Slot& slot : plan.inputs()) memory.inputs += slot.bytes();
  memory.results = plan.bytes() - memory.between - memory.inputs;
  return memory;
}

}  // namespace shardproof
