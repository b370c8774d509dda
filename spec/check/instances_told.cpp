#include "spec/check/instances_told.h"

#include <algorithm>
#include <map>

namespace shardproof {
namespace {

using Group = std::vector<PlanReport*>;

bool has_error(const PlanReport& plan) {
  return std::any_of(plan.diagnostics.begin(), plan.diagnostics.end(),
                     [](const Diagnostic& each) { return each.severity == Severity::error; });
}

const Diagnostic* same_report(const PlanReport& plan, const Diagnostic& as) {
  for (const Diagnostic& each : plan.diagnostics)
    if (each.code == as.code && each.range == as.range) return &each;
  return nullptr;
}

/// "in the instances f{R_t}, f{I_t}"; empty if all of the plan's instances report it.
std::string instances_with(const Group& group, const Diagnostic& told) {
  std::string names;
  size_t count = 0;
  for (const PlanReport* plan : group) {
    if (plan->read_whole && !same_report(*plan, told)) continue;
    names += (count++ ? ", `" : "`") + plan->name + "`";
  }
  if (count == group.size()) return "";
  return (count > 1 ? "in the instances " : "in the instance ") + names;
}

void tell_once(const Group& group) {
  for (PlanReport* plan : group)
    for (Diagnostic& each : plan->diagnostics) {
      if (each.severity != Severity::error) continue;
      if (std::string names = instances_with(group, each); !names.empty())
        each.details.push_back(std::move(names));
    }
  for (size_t i = 1; i < group.size(); ++i)
    std::erase_if(group[i]->diagnostics, [&](const Diagnostic& each) {
      return std::any_of(
          group.begin(), group.begin() + static_cast<std::ptrdiff_t>(i),
          [&](const PlanReport* earlier) { return same_report(*earlier, each) != nullptr; });
    });
}

/// An error of the common text is the first instance's; the others only depend on it.
void drop_consequences(const Group& group) {
  const bool told = std::any_of(group.begin(), group.end(),
                                [](const PlanReport* plan) { return has_error(*plan); });
  if (!told || !has_error(*group[0])) return;
  for (size_t i = 1; i < group.size(); ++i)
    if (!group[i]->read_whole)
      std::erase_if(group[i]->diagnostics,
                    [](const Diagnostic& each) { return each.code == "U0005"; });
}

}  // namespace

std::vector<Axis> open_axes(const Type& first, const Type& last) {
  std::vector<Axis> axes;
  for (const auto& [axis, mark] : last.marks)
    if (mark == Mark::I && !first.marks.contains(axis)) axes.push_back(axis);
  return axes;
}

void tell_instances(const ir::Program& program, std::vector<PlanReport>& plans) {
  std::map<std::vector<size_t>, Group> groups;
  for (PlanReport& plan : plans) {
    const std::vector<size_t>& instances = program.functions.at(plan.function).instances;
    if (!instances.empty()) groups[instances].push_back(&plan);
  }
  for (const auto& [instances, group] : groups) {
    drop_consequences(group);
    tell_once(group);
  }
}

}  // namespace shardproof
