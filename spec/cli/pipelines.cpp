// What the pipelines of a plan wait for and keep, at the sizes of a run.
#include <cmath>
#include <stdexcept>

#include "spec/cli/report.h"
#include "spec/schedule/schedule.h"

namespace shardproof::cli {
namespace {

int64_t whole(const ir::Arith& arith, const cost::Sizes& sizes) {
  const double value = ir::evaluate(arith, sizes);
  if (value != std::floor(value) || value < 1 || value > 1e6)
    throw std::domain_error("a size of the pipeline is no whole number");
  return static_cast<int64_t>(value);
}

schedule::Sizes sizes_of(const ir::Program& program, const ir::Pipeline& pipeline,
                         const cost::Sizes& sizes) {
  schedule::Sizes at;
  at.p = whole({ir::Arith::Kind::axis, pipeline.axis, ir::no_value, {}}, sizes);
  at.A = whole(program.size(pipeline.dim), sizes);
  for (const ir::Instr& instr : pipeline.body->instrs)
    if (auto* stages = std::get_if<ir::Stages>(&instr.op))
      for (size_t i = 0; i + 1 < stages->dims.size(); ++i)
        at.C *= whole(program.size(stages->dims[i]), sizes);
  for (const ir::Arith& each : pipeline.arguments) at.arguments.push_back(whole(each, sizes));
  if (at.p * at.A * at.C > 1000000) throw std::domain_error("the schedule is too long to show");
  return at;
}

}  // namespace

std::vector<PipelineRun> pipeline_runs(const FileReport& report, const PlanReport& plan) {
  std::vector<PipelineRun> result;
  const auto written = report.checked->written().find(plan.function);
  if (!report.sized || written == report.checked->written().end()) return result;
  const ir::Program& program = report.checked->program();
  for (const ir::Instr& instr : written->second.body.instrs) {
    auto* pipeline = std::get_if<ir::Pipeline>(&instr.op);
    if (!pipeline) continue;
    const auto declared = report.checked->schedules().find(pipeline->schedule);
    if (declared == report.checked->schedules().end()) continue;
    try {
      const schedule::Sizes sizes = sizes_of(program, *pipeline, report.sizes);
      const schedule::Program steps(declared->second);
      if (!steps.allows(sizes)) continue;
      schedule::Outcome outcome =
          schedule::simulate(steps.timelines(sizes), sizes, {}, 1, steps.range());
      if (!outcome.problem) result.push_back({pipeline->schedule, sizes, std::move(outcome.run)});
    } catch (const std::domain_error&) {
      // A size is missing: nothing can be said in numbers.
    } catch (const schedule::Problem&) {
    }
  }
  return result;
}

void print_pipelines(const FileReport& report, const PlanReport& plan, std::ostream& out) {
  for (const PipelineRun& each : pipeline_runs(report, plan)) {
    const double percent = std::round(each.run.idle() * 1000) / 10;
    out << "  schedule " << each.schedule << ": p = " << each.sizes.p << ", A = " << each.sizes.A;
    if (each.sizes.C > 1) out << ", C = " << each.sizes.C;
    out << "; " << percent << " % idle where F, B and W take equal time\n";
    out << "  kept by stage, in microbatches" << (each.sizes.C > 1 ? " of a chunk:" : ":");
    for (int64_t peak : each.run.peak) out << " " << peak;
    out << "\n";
  }
}

}  // namespace shardproof::cli
