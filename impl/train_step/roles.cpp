#include "impl/train_step/roles.h"

#include <algorithm>

#include "impl/tensor/listed.h"
#include "impl/tensor/placement.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

const ir::Function& function_of(const Program& program, size_t index) {
  return program.checked().program().functions.at(index);
}

/// A parameter or result as written: consecutive leaves.
struct Leaves {
  Name name;
  size_t first = 0, count = 0;
};

std::vector<Leaves> leaves_of(const std::vector<std::pair<Name, size_t>>& groups) {
  std::vector<Leaves> all;
  size_t first = 0;
  for (const auto& [name, count] : groups) {
    all.push_back({name, first, count});
    first += count;
  }
  return all;
}

const Type& param_type(const ir::Function& plan, size_t leaf) {
  return plan.values.at(plan.params.at(leaf)).type;
}

const Leaves* find(const std::vector<Leaves>& all, const Name& name) {
  for (const Leaves& each : all)
    if (each.name == name) return &each;
  return nullptr;
}

void require_same_types(const ir::Function& plan, const Leaves& param, const Leaves& result) {
  for (size_t i = 0; i < std::max(param.count, result.count); ++i)
    if (param.count != result.count ||
        !same_value_type(param_type(plan, param.first + i), plan.results.at(result.first + i)))
      throw PlanError("the result " + result.name + " of " + plan.name + " replaces " + param.name +
                      " and has another type: state keeps its type");
}

StepRoles roles_of_plan(const Program& program, size_t index) {
  const ir::Function& plan = function_of(program, index);
  const std::vector<Leaves> params = leaves_of(plan.param_groups),
                            results = leaves_of(plan.result_groups);
  StepRoles roles;
  roles.step = index;
  for (const Leaves& param : params) {
    const Leaves* next = find(results, param.name + "1");
    if (next) {
      require_same_types(plan, param, *next);
      roles.state.push_back({param.name, param.first, next->first, param.count});
      continue;
    }
    for (size_t leaf = param.first; leaf < param.first + param.count; ++leaf) {
      const Type& type = param_type(plan, leaf);
      const bool scalar = type.dims.empty() && type.dtype != Dtype::key;
      if (scalar && param.name == "step")
        roles.number = leaf;
      else if (scalar && param.name == "lr")
        roles.learning_rate = leaf;
      else
        (type.dtype == Dtype::key ? roles.keys : roles.data).push_back(leaf);
    }
  }
  const auto is_state = [&](const Name& name) {
    return std::any_of(roles.state.begin(), roles.state.end(),
                       [&](const StateGroup& group) { return group.name + "1" == name; });
  };
  for (const Leaves& result : results)
    for (size_t i = 0; i < result.count && !is_state(result.name); ++i)
      roles.metrics.push_back(result.first + i);
  return roles;
}

/// The functions whose value_and_grad the function takes, directly or in a callee.
std::vector<size_t> losses_of(const ir::Program& program, size_t index) {
  std::vector<size_t> losses, functions = called_by(program, index);
  functions.insert(functions.begin(), index);
  for (size_t each : functions)
    for_each_instr(program.functions.at(each).body, [&](const ir::Instr& instr) {
      if (const auto* grad = std::get_if<ir::Grad>(&instr.op); grad && grad->with_value)
        losses.push_back(grad->function);
    });
  return losses;
}

}  // namespace

bool same_value_type(Type a, Type b) {
  for (Type* type : {&a, &b})
    std::erase_if(type->marks, [](const auto& mark) { return mark.second == Mark::I; });
  return a == b;
}

std::vector<size_t> called_by(const ir::Program& program, size_t plan) {
  std::vector<size_t> found{plan};
  for (size_t next = 0; next < found.size(); ++next)
    for_each_instr(program.functions.at(found[next]).body, [&](const ir::Instr& instr) {
      const auto* call = std::get_if<ir::Call>(&instr.op);
      const auto* grad = std::get_if<ir::Grad>(&instr.op);
      if (!call && !grad) return;
      const size_t callee = call ? call->function : grad->function;
      if (std::find(found.begin(), found.end(), callee) == found.end()) found.push_back(callee);
    });
  found.erase(found.begin());
  return found;
}

std::optional<StepRoles> roles_of_step(const Program& program, const PlanReport& report) {
  StepRoles roles = roles_of_plan(program, report.function);
  roles.losses = losses_of(program.checked().program(), report.function);
  if (roles.state.empty() || roles.losses.empty()) return std::nullopt;
  return roles;
}

StepRoles roles_of(const Program& program, const Name& name) {
  if (!program.checked().readable()) throw PlanError(program.report());
  std::vector<StepRoles> steps;
  std::vector<Name> names;
  for (const PlanReport& report : program.checked().plans()) {
    if (name.empty() ? report.imported : report.name != name) continue;
    std::optional<StepRoles> roles = roles_of_step(program, report);
    if (!roles) continue;
    names.push_back(report.name);
    steps.push_back(std::move(*roles));
  }
  if (steps.size() == 1) return steps[0];
  if (steps.size() > 1)
    throw PlanError("there are several training steps, " + listed(names) + ": say which, --step " +
                    names[0]);
  if (name.empty())
    throw PlanError(
        "there is no training step: a plan of this file that calls value_and_grad and returns w1 "
        "for a parameter w");
  program.plan(name);  // throws if there is no such plan
  throw PlanError(
      name + " is not a training step: one calls value_and_grad and returns w1 for a parameter w");
}

namespace {

bool takes_a_key(const ir::Function& plan) {
  return plan.kind == ir::Function::Kind::plan && plan.params.size() == 1 &&
         plan.saved_params.empty() && param_type(plan, 0).dtype == Dtype::key &&
         param_type(plan, 0).dims.empty();
}

bool fits(const ir::Function& step, const StateGroup& state, const ir::Function& init,
          const Leaves& result) {
  if (result.count != state.count) return false;
  for (size_t i = 0; i < state.count; ++i)
    if (!same_value_type(param_type(step, state.param + i), init.results.at(result.first + i)))
      return false;
  return true;
}

/// The state that each group of results belongs to; none if one belongs to no state.
std::optional<std::vector<size_t>> groups_of(const ir::Function& step, const StepRoles& roles,
                                             const ir::Function& init) {
  const std::vector<Leaves> results = leaves_of(init.result_groups);
  std::vector<size_t> groups;
  for (const Leaves& result : results) {
    size_t group = 0;
    if (!result.name.empty() || results.size() > 1)
      while (group < roles.state.size() && roles.state[group].name != result.name) ++group;
    if (group == roles.state.size() || !fits(step, roles.state[group], init, result))
      return std::nullopt;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace

std::optional<InitRoles> find_init(const Program& program, const StepRoles& roles,
                                   const Name& name) {
  const ir::Function& step = function_of(program, roles.step);
  std::vector<InitRoles> found;
  std::vector<Name> names;
  if (!name.empty()) program.plan(name);
  for (const PlanReport& report : program.checked().plans()) {
    const ir::Function& plan = function_of(program, report.function);
    if ((!name.empty() && report.name != name) || !takes_a_key(plan)) continue;
    if (auto groups = groups_of(step, roles, plan)) {
      found.push_back({report.function, *groups});
      names.push_back(report.name);
    }
  }
  if (found.size() > 1)
    throw PlanError("several plans give the first state of " + step.name + ": " + listed(names) +
                    ": say which, --init " + names[0]);
  return found.empty() ? std::nullopt : std::optional(found[0]);
}

InitRoles init_of(const Program& program, const StepRoles& roles, const Name& name) {
  if (const auto found = find_init(program, roles, name)) return *found;
  const ir::Function& step = function_of(program, roles.step);
  std::vector<Name> others;
  for (const PlanReport& report : program.checked().plans())
    if ((name.empty() || report.name == name) && takes_a_key(function_of(program, report.function)))
      others.push_back(report.name);
  const std::string first = roles.state.at(0).name;
  const std::string type = step.param_types.empty() ? "" : step.param_types.at(0).name;
  throw PlanError((name.empty() ? "no plan gives the first " + first + " of " + step.name
                                : name + " does not give the first " + first + " of " + step.name) +
                  ": write plan init_... implements init(k: key[]) -> " +
                  (type.empty() ? "its type" : type) +
                  (others.empty() ? "" : "; other types are given by " + listed(others)));
}

bool takes_state(const ir::Function& plan, const ir::Function& step, const StepRoles& roles) {
  size_t leaf = 0;
  for (const auto& [name, count] : plan.param_groups) {
    for (const StateGroup& group : roles.state)
      for (size_t i = 0; group.name == name && i < count; ++i)
        if (count != group.count ||
            !same_value_type(plan.values.at(plan.params.at(leaf + i)).type,
                             step.values.at(step.params.at(group.param + i)).type))
          return false;
    leaf += count;
  }
  return true;
}

std::optional<Dim> range_of_data(const Program& program, const StepRoles& roles, const Name& name) {
  const std::string begin = "0 <= " + name;
  for (const PlanReport& report : program.checked().plans()) {
    if (report.function != roles.step) continue;
    for (const std::string& assumption : report.assumptions) {
      const size_t bar = assumption.find(" < |");
      if (!assumption.starts_with(begin) || bar == std::string::npos) continue;
      const char after = assumption[begin.size()];
      if ((after == ' ' || after == '[') && assumption.ends_with('|'))
        return Dim{{assumption.substr(bar + 4, assumption.size() - bar - 5)}};
    }
  }
  return std::nullopt;
}

std::optional<Dim> vocabulary_of(const Program& program, const StepRoles& roles) {
  const auto entries = range_of_data(program, roles, "ids");
  return entries ? entries : range_of_data(program, roles, "targets");
}

}  // namespace shardproof
