// What the pipelines of a plan wait for and keep, at the sizes of a run.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "spec/cli/report.h"
#include "spec/schedule/schedule.h"

namespace shardproof::cli {
namespace {

int64_t whole(const ir::Arith& arith, const cost::Sizes& sizes) {
  const double value = ir::evaluate(arith, sizes);
  if (value != std::floor(value) || value < 1 || value > 1e6)
    throw std::domain_error("a size of the pipeline is not a whole number");
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
  return at;
}

/// Work of all stages: a run takes a second for some millions.
bool is_too_long(const schedule::Sizes& at, int64_t most) {
  return static_cast<double>(at.p) * static_cast<double>(at.A) * static_cast<double>(at.C) >
         static_cast<double>(most);
}

bool beyond(const ScheduleBound& bound, const cost::Sizes& sizes) {
  return std::any_of(bound.up_to.begin(), bound.up_to.end(), [&](const auto& each) {
    const auto found = sizes.find(each.first);
    return found != sizes.end() && found->second > each.second;
  });
}

Diagnostic problem_at(const schedule::Problem& problem, const ir::Pipeline& pipeline,
                      SourceRange range) {
  Diagnostic result = schedule::diagnostic_of(problem, pipeline.schedule);
  result.range = range;
  return result;
}

ScheduleProblem problem_of(const CheckedProgram& checked, const ir::Instr& instr,
                           const ir::Pipeline& pipeline, const cost::Sizes& sizes) {
  constexpr int64_t most = 2000000;
  try {
    const schedule::Sizes at = sizes_of(checked.program(), pipeline, sizes);
    const SourceRange range = instr.place.range;
    if (is_too_long(at, most))
      return {
          {},
          problem_at({"E0106",
                      "it has more than " + std::to_string(most) +
                          " steps at these sizes, too many to be run",
                      {},
                      {"add `let time_F(k)` and `let time_B(k)` to it, to prove it for all sizes"}},
                     pipeline, range)};
    const schedule::Program steps(*checked.schedules().at(pipeline.schedule));
    if (auto problem = schedule::check(steps, at))
      return {{}, problem_at(*problem, pipeline, range)};
  } catch (const std::domain_error& reason) {
    const std::string what = reason.what();
    if (const size_t end = what.find(" has no size"); end != std::string::npos)
      return {{what.substr(0, end)}, std::nullopt};
  }
  return {};
}

}  // namespace

std::vector<ScheduleProblem> schedule_problems(const CheckedProgram& checked,
                                               const PlanReport& plan, const cost::Sizes& sizes) {
  std::vector<ScheduleProblem> result;
  for (const ScheduleBound& bound : plan.schedules) {
    if (!beyond(bound, sizes)) continue;
    for (const auto& [f, written] : checked.written())
      for (const ir::Instr& instr : written.body.instrs)
        if (auto* pipeline = std::get_if<ir::Pipeline>(&instr.op);
            pipeline && pipeline->schedule == bound.schedule &&
            pipeline->run_up_to == bound.up_to && checked.schedules().count(bound.schedule))
          result.push_back(problem_of(checked, instr, *pipeline, sizes));
  }
  return result;
}

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
      if (is_too_long(sizes, 1000000)) continue;
      const schedule::Program steps(*declared->second);
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
