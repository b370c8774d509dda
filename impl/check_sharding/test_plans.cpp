#include "impl/check_sharding/test_plans.h"

#include <cstdio>
#include <mutex>

#include "impl/check_sharding/few_ops.h"
#include "spec/check/conditions.h"
#include "spec/check/cost_of_run.h"
#include "spec/check/fixed_sizes.h"
#include "spec/check/typing.h"

namespace shardproof::check_sharding {
namespace {

using beside::Outcome;
using beside::PlanCase;

constexpr double most_numbers = 3e7;  ///< in a run, on all devices

/// Programs whose large sizes are made symbolic if nothing reads them as numbers.
class OpenSizes {
 public:
  OpenSizes(const ir::Program& program, size_t plan)
      : open_(without_those_read(program, plan, large_sizes(program))) {}

  const ir::Program* of(const ir::Program* program) {
    if (open_.empty()) return program;
    const std::lock_guard lock(mutex_);
    const auto [found, fresh] = opened_.try_emplace(program);
    if (fresh) found->second = with_open_sizes(*program, open_);
    return &found->second;
  }

 private:
  FixedSizes open_;
  std::mutex mutex_;  // ranks compile concurrently
  std::map<const ir::Program*, ir::Program> opened_;
};

void require_small(const PlanCase& one, const std::vector<Divisibility>& conditions,
                   const beside::CaseOptions& options) {
  require_few_ops(*one.unit.program, one.unit.function);
  denote::RandomBits rng(options.seed);
  const auto sizes = mesh_sizes(*one.unit.program, conditions, rng, {.given = options.given});
  if (!sizes) throw PlanError("no small mesh and sizes meet the conditions of the file");
  const double numbers = CostOfRun(*one.unit.program).at(one.unit.function, *sizes).numbers;
  if (numbers * static_cast<double>(sizes->devices()) > most_numbers)
    throw PlanError("a run at the sizes of the file takes too long");
}

/// Tests plan `function` of a checked file: the program's own, or a derived backward.
TestedPlan tested(std::string claim, const Program& program, PlanCase one,
                  const std::vector<Divisibility>& conditions, const beside::CaseOptions& options) {
  TestedPlan plan{std::move(claim), one.unit.sources, one.unit.sources != &program.sources()};
  try {
    OpenSizes open(*one.unit.program, one.unit.function);
    one.unit.program = open.of(one.unit.program);
    one.find_backward = [&, any = any_backwards(program)](const compile::Unit& of,
                                                          const std::vector<size_t>& wrt) {
      compile::Unit unit = any(of, wrt);
      unit.program = open.of(unit.program);
      return unit;
    };
    require_small(one, conditions, options);
    plan.outcome = run_random_cases(one, conditions, options);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    plan.why = text.substr(0, text.find('\n'));
  }
  return plan;
}

std::vector<Divisibility> conditions_with(const CheckedProgram& checked, size_t function) {
  std::vector<Divisibility> conditions = all_conditions(checked);
  for (Divisibility& each : conditions_of(checked.program(), checked.types(function)))
    conditions.push_back(std::move(each));
  return conditions;
}

bool assumes_numbers(const PlanReport& report) { return !report.assumptions.empty(); }

bool has_floats(const ir::Function& plan) {
  return std::any_of(plan.params.begin(), plan.params.end(),
                     [&](ir::ValueId v) { return is_float(plan.values.at(v).type.dtype); });
}

/// The backward that a step in another file would use; none if it cannot be derived. If it is not
/// proved, it may choose another gradient than the model where there are several: no ties are
/// drawn then.
std::optional<TestedPlan> tested_backward(const Program& program, const PlanReport& report,
                                          beside::CaseOptions options, KeptBackwards& kept) {
  const std::string claim = "the derived backward of " + report.name;
  if (options.time.ended())
    return TestedPlan{claim, &program.sources(), true, {}, beside::time_ended};
  if (kept.full())
    return TestedPlan{
        claim, &program.sources(), true, {}, "those of the plans above used up the memory"};
  const CheckedBackward* backward = nullptr;
  try {
    backward = &program.backward(report.function, {});
  } catch (const std::exception&) {
    return std::nullopt;
  }
  kept.add(*backward);
  const bool proved = backward->verdict() == Verdict::proved;
  if (!proved && !(backward->report() && backward->report()->read_whole)) return std::nullopt;
  if (!proved) options.numbers_assumed = true;
  const CheckedProgram& checked = *backward->checked;
  const size_t function = backward->report()->function;
  std::vector<Divisibility> conditions = conditions_with(checked, function);
  for (Divisibility& each : all_conditions(program.checked()))
    conditions.push_back(std::move(each));
  TestedPlan result = tested(
      claim, program,
      {{&checked.program(), &checked.types(), backward->sources.get(), function}, {}, {}, {}, {}},
      conditions, options);
  return proved || result.why.empty() ? std::optional(std::move(result)) : std::nullopt;
}

/// Whether its derived backward is tested too, if it has one.
bool differentiated(const Program& program, const PlanReport& report,
                    const std::vector<bool>& steps) {
  const ir::Function& plan = program.checked().program().functions.at(report.function);
  return report.verdict == Verdict::proved && plan.model && !plan.trusted &&
         !steps[report.function] && has_floats(plan);
}

/// The options for the first of `left` tests, which share the time.
beside::CaseOptions with_its_share(beside::CaseOptions options, ptrdiff_t left) {
  beside::CaseTime& time = options.time;
  if (!time.clock) return options;
  const double now = time.clock();
  time.of_cases = now + (time.of_all - now) / static_cast<double>(left);
  return options;
}

bool stopped_by_time(const TestedPlan& tested) {
  return tested.outcome.stopped || tested.why == beside::time_ended;
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", seconds);
  return text;
}

/// "FILE:LINE: text", or "in its text: text"
std::string line_at(const SourceRange& range, const TestedPlan& of) {
  const int line = of.sources->locate(range.file, range.begin).line;
  const std::string_view text = of.sources->line(range.file, line);
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const std::string place = of.sources->file(range.file).path + ":" + std::to_string(line);
  return (of.derived ? "in its text" : place) + ": " + std::string(text.substr(begin));
}

void print_failure(const TestedPlan& of, std::ostream& out) {
  const beside::Failure& failure = *of.outcome.failure;
  out << "         smallest case: " << beside::mesh_text(failure.sizes);
  if (const std::string dims = beside::dims_text(failure.sizes); !dims.empty()) out << ", " << dims;
  out << "\n         " << failure.how << ", " << failure.difference << "\n";
  if (failure.op)
    out << "         " << failure.op->which << ": " << line_at(failure.op->range, of) << "\n";
}

}  // namespace

std::vector<TestedPlan> test_plans(
    const Program& program, const beside::CaseOptions& options,
    const std::map<Name, beside::Kernel>& kernels,
    const std::function<void(const Name& plan, size_t i, size_t count)>& before) {
  std::vector<TestedPlan> all;
  const CheckedProgram& checked = program.checked();
  const std::vector<bool> steps = find_steps(checked.program());
  KeptBackwards kept;
  const auto is_own = [&](const PlanReport& report) {
    const ir::Function& function = checked.program().functions.at(report.function);
    return !function.imported && function.kind == ir::Function::Kind::plan;
  };
  const auto count = std::count_if(checked.plans().begin(), checked.plans().end(), is_own);
  auto left = count + 1;
  for (const PlanReport& report : checked.plans()) {
    if (!is_own(report)) continue;
    --left;
    before(report.name, static_cast<size_t>(count - left), static_cast<size_t>(count));
    const ir::Function& function = checked.program().functions.at(report.function);
    const std::string claim = report.name + (report.claim.empty() ? "" : " " + report.claim);
    if (!report.read_whole) {
      all.push_back({claim, &program.sources(), false, {}, "it cannot be read"});
      continue;
    }
    if (options.time.ended()) {
      all.push_back({claim, &program.sources(), false, {}, beside::time_ended});
      continue;
    }
    beside::CaseOptions own = options;
    own.numbers_assumed = assumes_numbers(report);
    if (function.trusted) {
      const auto kernel = kernels.find(report.name);
      if (kernel == kernels.end()) {
        all.push_back({claim,
                       &program.sources(),
                       false,
                       {},
                       "it is trusted: --kernel " + report.name + "=LIB.so names it"});
        continue;
      }
      own.kernel = kernel->second;
    }
    const bool backward_too = differentiated(program, report, steps);
    all.push_back(tested(claim, program, beside::case_of(program, report),
                         conditions_with(checked, report.function),
                         with_its_share(own, backward_too ? 2 * left : left)));
    if (!backward_too) continue;
    if (auto backward = tested_backward(program, report, with_its_share(own, left), kept))
      all.push_back(std::move(*backward));
  }
  return all;
}

Verdict verdict_of(const std::vector<TestedPlan>& tested) {
  Verdict worst = Verdict::proved;
  for (const TestedPlan& each : tested)
    worst = worse(worst, each.outcome.failure ? Verdict::refuted
                         : each.why.empty()   ? Verdict::proved
                                              : Verdict::unknown);
  return worst;
}

void print_tested(const std::vector<TestedPlan>& tested, const beside::CaseOptions& options,
                  double seconds, std::ostream& out) {
  int agree = 0, differ = 0, left = 0;
  for (const TestedPlan& each : tested) {
    if (!each.why.empty()) {
      ++left;
      out << "not run  " << each.claim << ": " << each.why << "\n";
    } else if (each.outcome.failure) {
      ++differ;
      out << "differs  " << each.claim << "\n";
      print_failure(each, out);
    } else {
      ++agree;
      out << "agrees   " << each.claim << ": " << each.outcome.cases
          << (each.outcome.cases == 1 ? " case\n" : " cases\n");
    }
  }
  if (tested.empty()) {
    out << "nothing to test: no plan in the file\n";
    return;
  }
  out << "random meshes and sizes, seed " << options.seed << ": " << agree
      << " agree with the oracle";
  if (differ) out << ", " << differ << (differ == 1 ? " differs" : " differ");
  if (left) out << ", " << left << " not run";
  out << " (" << seconds_text(seconds) << ")\n";
  if (std::any_of(tested.begin(), tested.end(), stopped_by_time))
    out << "the time of --test ended before all cases: --cases " << options.cases
        << " runs them, however long it takes\n";
}

}  // namespace shardproof::check_sharding
