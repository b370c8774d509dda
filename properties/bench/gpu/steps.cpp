#include "properties/bench/gpu/steps.h"

#include <algorithm>
#include <random>

#include "impl/comm/virtual/virtual_ranks.h"
#include "impl/compile/compile_plan.h"
#include "impl/device/planned.h"
#include "impl/plan/steps.h"
#include "impl/train_step/on_gpu.h"
#include "kernels/number.h"
#include "kernels/philox.h"
#include "properties/bench/gpu/clock.h"

namespace shardproof::bench {
namespace {

using nlohmann::json;

DimSizes sizes_of(const Program& program, const StepCase& one) {
  DimSizes sizes;
  if (const auto found = program.checked().program().configs.find(one.config);
      found != program.checked().program().configs.end())
    for (const auto& [name, number] : found->second.numbers) sizes[name] = std::stoll(number);
  if (sizes.empty()) throw PlanError("there is no config " + one.config);
  int64_t& batch = sizes.at("B");
  if (const auto window = sizes.find("W"); window != sizes.end()) {  // |L| = |C| |W|
    batch = batch * sizes.at("C") * window->second / one.length;
    sizes["C"] = one.length / window->second;
  } else {
    batch = batch * sizes.at("L") / one.length;
    sizes["L"] = one.length;
  }
  return sizes;
}

/// The state as init draws it, where the step keeps it: the host would take minutes, and the GPU
/// has no room for two. Moments are zero.
void draw_state(const Program& program, const StepRoles& roles, Plan& step, const DimSizes& sizes,
                const std::shared_ptr<Device>& device, Communicator& communicator) {
  const InitRoles init = init_of(program, roles);
  Plan plan = compile_plan(program, program.checked().program().functions.at(init.plan).name,
                           Mesh(), sizes, 0, {.device = device});
  LocalTensor key = plan.input(0);
  *key.data<uint64_t>() = philox_fold(1, "init");
  for (size_t group = 0, first = 0; group < roles.state.size(); ++group) {
    const StateGroup& state = roles.state[group];
    const bool is_drawn =
        std::find(init.groups.begin(), init.groups.end(), group) != init.groups.end();
    for (size_t i = 0; i < state.count; ++i)
      is_drawn ? plan.make_kept(first++, step, state.param + i) : step.keep_zeros(state.param + i);
  }
  plan.keep(0, key);
  plan.run_kept(communicator);
  plan.finish();
}

void draw_data(const StepRoles& roles, Plan& step, int64_t vocabulary) {
  std::mt19937_64 rng(1);
  const auto scalar = [&](size_t leaf, double value) {
    LocalTensor tensor = step.input(leaf);
    set_number(tensor.element, tensor.buffer.data(), 0, value);
    step.keep(leaf, tensor);
  };
  for (size_t leaf : roles.data) {
    LocalTensor tensor = step.input(leaf);
    for (int64_t i = 0; i < tensor.count(); ++i)  // u8: where documents begin
      set_number(tensor.element, tensor.buffer.data(), i,
                 tensor.element == Element::u8 ? i % tensor.extents.back() == 0
                                               : static_cast<double>(rng() % vocabulary));
    step.keep(leaf, tensor);
  }
  if (roles.number) scalar(*roles.number, 1);
  if (roles.learning_rate) scalar(*roles.learning_rate, 1e-4);
}

double tokens_of(const DimSizes& sizes, const StepCase& one) {
  return static_cast<double>(sizes.at("B") * one.length);
}

Plan plan_of(const Program& program, const StepRoles& roles, const DimSizes& sizes,
             const std::shared_ptr<Device>& device) {
  return compile_plan(program, program.checked().program().functions.at(roles.step).name, Mesh(),
                      sizes, 0, on_gpu({.overlap = true, .device = device}, &roles));
}

/// The time of each op, of a run that waits for every one, and the 40 of op and place whose time is
/// furthest above the ceiling's. What is measured without it stays if it fails.
void add_profile(Plan& plan, Communicator& communicator, json& result) {
  try {
    plan.measure(true, true);
    plan.run_kept(communicator);
    std::map<std::string, double> at_best;
    for (const json& one : result["ceiling"]["most"]) at_best[one["what"]] = one["seconds"];
    std::vector<json> gaps;
    std::map<std::string, OpTime> ops;
    for (const auto& [what, used] : plan.times()) {
      OpTime& op = ops[what.substr(0, what.find("  "))];
      op.calls += used.calls;
      op.seconds += used.seconds;
      gaps.push_back({{"what", what},
                      {"calls", used.calls},
                      {"seconds", used.seconds},
                      {"gap", used.seconds - at_best[what]}});
    }
    for (const auto& [op, used] : ops)
      result["profile"][op] = {{"calls", used.calls}, {"seconds", used.seconds}};
    std::sort(gaps.begin(), gaps.end(), [](const json& a, const json& b) {
      return a["gap"].get<double>() > b["gap"].get<double>();
    });
    gaps.resize(std::min<size_t>(gaps.size(), 40));
    result["gaps"] = gaps;
  } catch (const std::exception& error) {
    result["profile"]["error"] = error.what();
  }
}

json measured(const Program& program, const StepCase& one, const std::shared_ptr<Device>& device,
              const Speed& peak, bool profile, const std::function<size_t()>& used,
              Communicator& communicator) {
  const StepRoles roles = roles_of(program);
  const DimSizes sizes = sizes_of(program, one);
  Plan plan = plan_of(program, roles, sizes, device);
  draw_state(program, roles, plan, sizes, device, communicator);
  draw_data(roles, plan, sizes.at("V"));

  using Clock = std::chrono::steady_clock;
  constexpr int steps = 10;
  json losses = json::array();
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i) plan.run_kept(communicator);
    const LocalTensor loss = plan.kept_output(roles.metrics.at(0));  // waits for the step
    losses.push_back(number_at(loss.element, loss.buffer.data(), 0));
  };
  for (int i = 0; i < 3; ++i) run(1);
  const auto begin = Clock::now();
  run(steps);
  const double time = std::chrono::duration<double>(Clock::now() - begin).count() / steps;
  const double tokens = tokens_of(sizes, one);
  const double tflops = 1e-12 * bench::flops_of(plan.steps()) / time;
  json result = {{"config", one.config},
                 {"sequence", one.length},
                 {"batch", sizes.at("B")},
                 {"seconds", time},
                 {"tokens_per_s", tokens / time},
                 {"tflops", tflops},
                 {"share_of_matmul", 1e12 * tflops / peak.flops_per_s},
                 {"share_of_989", tflops / 989},
                 {"plan_bytes", plan.bytes()},
                 {"measured_bytes", used()},
                 {"losses", losses}};
  result["ceiling"] = ceiling(plan.steps(), peak);
  result["share_of_ceiling"] = result["ceiling"]["seconds"].get<double>() / time;
  if (profile) add_profile(plan, communicator, result);
  return result;
}

}  // namespace

json step(const Program& program, const StepCase& one, const std::shared_ptr<Device>& device,
          const Speed& peak, bool profile, const std::function<size_t()>& used) {
  json result;
  run_on_virtual_ranks(*device, 1, [&](Communicator& communicator) {
    result = measured(program, one, device, peak, profile, used, communicator);
  });
  return result;
}

json planned_step(const Program& program, const StepCase& one, const Speed& peak) {
  const DimSizes sizes = sizes_of(program, one);
  const Plan plan = plan_of(program, roles_of(program), sizes, planned_device());
  json result = ceiling(plan.steps(), peak);
  result["config"] = one.config;
  result["sequence"] = one.length;
  result["plan_bytes"] = plan.bytes();
  result["tokens_per_s"] = tokens_of(sizes, one) / result["seconds"].get<double>();
  return result;
}

}  // namespace shardproof::bench
