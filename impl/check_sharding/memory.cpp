#include "impl/check_sharding/memory.h"

#include "impl/check_sharding/few_ops.h"
#include "impl/train_step/on_gpu.h"

namespace shardproof::check_sharding {

using namespace cli;

namespace {

/// The first line of the core's message.
std::string reason(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::map<Name, PlanMemory> memory_of(const FileReport& report, const FileReader& reader) {
  std::vector<std::pair<Axis, int64_t>> axes;
  DimSizes dims = report.sizes;
  for (const auto& [axis, declared] : report.checked->program().axes) {
    const auto size = dims.extract(axis);
    if (!size) return {};
    axes.emplace_back(axis, size.mapped());
  }
  const auto program =
      shardproof::Program::of(*report.checked, report.sources, report.path, reader);
  std::map<Name, PlanMemory> all;
  for (const PlanReport& plan : report.checked->plans()) {
    if (plan.imported || !cost_of(*report.checked, plan)) continue;
    PlanMemory& memory = all[plan.name];
    if (plan.verdict != Verdict::proved) {  // the core's message has the report of all plans
      memory.why = not_run(plan);
      continue;
    }
    try {
      require_few_ops(report.checked->program(), plan.function);
      const Mesh mesh(axes);  // a mesh has at most 10^9 ranks
      memory.with_overlap =
          memory_on_gpu(program, plan.name, mesh, dims, {.overlap = true}).bytes();
      const StepMemory bytes = memory_on_gpu(program, plan.name, mesh, dims);
      memory.bytes = {bytes.inputs, bytes.results, bytes.between};
    } catch (const std::exception& error) {
      memory.why = reason(error.what());
    }
  }
  return all;
}

}  // namespace shardproof::check_sharding
