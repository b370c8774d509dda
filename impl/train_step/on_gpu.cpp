#include "impl/train_step/on_gpu.h"

#include <algorithm>

#include "impl/device/planned.h"
#include "impl/train_step/state_in_place.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

/// The axis of pipeline stages in the plan, or in one that it calls or differentiates; empty if
/// there is none.
Axis axis_of_stages(const CheckedProgram& checked, size_t plan) {
  Axis found;
  const auto look = [&](const ir::Instr& instr) {
    if (const auto* pipeline = std::get_if<ir::Pipeline>(&instr.op)) found = pipeline->axis;
    const auto* call = std::get_if<ir::Call>(&instr.op);
    const auto* grad = std::get_if<ir::Grad>(&instr.op);
    if (found.empty() && (call || grad))
      found = axis_of_stages(checked, call ? call->function : grad->function);
  };
  const auto written = checked.written().find(plan);
  for_each_instr(
      (written == checked.written().end() ? checked.program().functions.at(plan) : written->second)
          .body,
      look);
  return found;
}

StepMemory memory_of(const Plan& plan) {
  StepMemory memory;
  memory.between = plan.arena_bytes();
  for (const Slot& slot : plan.inputs()) memory.inputs += slot.bytes();
  memory.results = plan.bytes() - memory.between - memory.inputs;
  return memory;
}

}  // namespace

PlanOptions on_gpu(PlanOptions options, const StepRoles* roles) {
  options.unroll = options.overlap ? 2 : 1;
  options.in_place.clear();
  return roles ? state_in_place(options, *roles) : options;
}

StepMemory memory_on_gpu(const Program& program, const Name& name, const Mesh& mesh,
                         const DimSizes& dims, PlanOptions options) {
  options.device = planned_device();
  const PlanReport& report = program.plan(name);
  const std::optional<StepRoles> roles = roles_of_step(program, report);
  const Axis axis = axis_of_stages(program.checked(), report.function);
  // The first stage keeps the most microbatches; the last one has the loss.
  std::vector<int> ranks{0};
  if (!axis.empty()) ranks.push_back(mesh.along(0, {axis}).back());
  std::vector<StepMemory> stages;
  for (const int rank : ranks)
    stages.push_back(memory_of(
        compile_plan(program, name, mesh, dims, rank, on_gpu(options, roles ? &*roles : nullptr))));
  return *std::max_element(
      stages.begin(), stages.end(),
      [](const StepMemory& a, const StepMemory& b) { return a.bytes() < b.bytes(); });
}

}  // namespace shardproof
