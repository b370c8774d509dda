#include "spec/cli/report.h"

#include <algorithm>
#include <stdexcept>

namespace shardproof::cli {

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::proved:
      return 0;
    case Verdict::refuted:
      return 1;
    case Verdict::unknown:
      return 2;
    case Verdict::invalid:
      break;
  }
  return 3;
}

int32_t main_file(const FileReport& report) {
  for (size_t i = 0; i < report.sources->size(); ++i)
    if (report.sources->file(static_cast<int32_t>(i)).path == report.path)
      return static_cast<int32_t>(i);
  return -1;
}

std::vector<const Diagnostic*> all_diagnostics(const FileReport& report) {
  std::vector<const Diagnostic*> all;
  auto add = [&](const std::vector<Diagnostic>& diagnostics) {
    for (const Diagnostic& each : diagnostics) all.push_back(&each);
  };
  if (report.checked) add(report.checked->diagnostics());
  add(report.diagnostics);
  if (report.checked)
    for (const PlanReport& plan : report.checked->plans()) add(plan.diagnostics);
  std::stable_partition(all.begin(), all.end(),
                        [](const Diagnostic* each) { return each->severity == Severity::error; });
  return all;
}

bool listed(const PlanReport& plan) { return !plan.imported || plan.verdict != Verdict::proved; }

std::vector<std::string> conditions_of(const PlanReport& plan) {
  std::vector<std::string> result;
  for (const Divisibility& each : plan.conditions) result.push_back(to_string(each));
  for (const ScheduleBound& each : plan.schedules) result.push_back(to_string(each));
  return result;
}

std::string trusting(const PlanReport& plan) {
  std::string text;
  for (const Name& name : plan.trusting) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::optional<cost::Cost> cost_of(const CheckedProgram& checked, const PlanReport& plan) {
  const ir::Function& function = checked.program().functions.at(plan.function);
  if (plan.verdict == Verdict::refuted || plan.verdict == Verdict::invalid || function.trusted)
    return std::nullopt;
  try {
    const auto types = [&](size_t i) -> const std::vector<Type>& { return checked.types(i); };
    const auto backward = [&](size_t f,
                              const std::vector<size_t>& wrt) -> std::optional<cost::Cost> {
      // The text derived for a pipeline is that of its scan, which has every layer on each stage.
      if (!checked.written().empty()) return std::nullopt;
      const auto found = checked.backwards().find({f, wrt});
      const CheckedBackward* derived =
          found == checked.backwards().end() ? nullptr : found->second.get();
      const PlanReport* report = derived ? derived->report() : nullptr;
      return report ? cost_of(*derived->checked, *report) : std::nullopt;
    };
    if (checked.written().empty())
      return cost::cost(checked.program(), types, plan.function, backward);
    // Pipelines as written: in the checked program every stage has all layers.
    ir::Program written = checked.program();
    for (const auto& [f, text] : checked.written()) written.functions.own().at(f) = text;
    return cost::cost(written, types, plan.function, backward);
  } catch (const std::logic_error&) {
    return std::nullopt;  // a value without a final type, or an amount beyond 64 bits
  }
}

}  // namespace shardproof::cli
