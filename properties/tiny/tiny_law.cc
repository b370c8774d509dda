// Every model with a training step trains: from its `tiny` config, some steps on the same data, on
// thread ranks. A plan of the model draws its first state. State stays finite and
// moves, and the loss, where the step gives it, falls.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <mutex>

#include "impl/comm/threads.h"
#include "impl/compile/compile_plan.h"
#include "impl/train_step/roles.h"
#include "properties/generators/plan_run.h"
#include "properties/generators/shard_files.h"
#include "spec/check/points.h"

namespace shardproof {
namespace {

constexpr int steps = 12;
constexpr double learning_rate = 3e-3;

/// What a config says, 2 for every axis that it leaves open, and padding until all axes divide.
denote::Sizes sizes_of(const ir::Program& program, const ir::Config& config) {
  denote::Sizes sizes;
  for (const Axis& axis : program.axis_names()) {
    const auto given = config.numbers.find(axis);
    sizes.mesh.push_back({axis, given == config.numbers.end() ? 2 : std::stoll(given->second)});
  }
  for (const auto& [name, info] : program.dims)
    if (const auto given = config.numbers.find(name);
        info.kind == ir::DimInfo::Kind::plain && given != config.numbers.end())
      sizes.dims[name] = std::stoll(given->second);
    else if (info.kind == ir::DimInfo::Kind::plain)
      sizes.dims[name] = 2;  // a dim that an imported config does not know
  int64_t devices = 1;
  for (const auto& [axis, size] : sizes.mesh) devices *= size;
  for (const auto& [name, info] : program.dims)
    if (info.pads && !config.numbers.contains(name))
      sizes.dims[name] = (sizes.dims.at(*info.pads) + devices - 1) / devices * devices;
  return sizes;
}

/// The trajectory of one step plan.
struct Trained {
  std::vector<double> losses;
  bool finite = true, moved = false;
};

class Training {
 public:
  Training(const Program& program, const StepRoles& roles, denote::Sizes sizes)
      : program_(program), roles_(roles), sizes_(std::move(sizes)) {
    const ir::Program& ir = program.checked().program();
    const ir::Function& step = ir.functions.at(roles.step);
    auto whole = random_inputs(ir, step, sizes_, 1, Draw::mixed);
    for (const StateGroup& group : roles.state)
      for (size_t i = group.param; i < group.param + group.count; ++i)
        for (double& x : whole[i].data) x *= group.name == "m" || group.name == "v" ? 0 : 0.25;
    denote::RandomBits rng(1);
    const denote::Geometry geometry(ir, sizes_);
    for (size_t i = 0; i < whole.size(); ++i)
      local_.push_back(properties::same_on_devices(
          geometry, program.checked().types(roles.step).at(step.params[i]), whole[i], rng));
  }

  Trained run() {
    const Mesh mesh = properties::mesh_of(sizes_);
    run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& ranks) { rank(ranks, mesh); });
    return trained_;
  }

 private:
  void rank(Communicator& ranks, const Mesh& mesh) {
    const Name& name = program_.checked().program().functions.at(roles_.step).name;
    Plan plan = compile_plan(program_, name, mesh, sizes_.dims, ranks.rank(), {.overlap = true});
    std::vector<LocalTensor> inputs;
    for (size_t i = 0; i < local_.size(); ++i) {
      inputs.push_back(plan.input(i));
      beside::fill(inputs[i], local_[i][static_cast<size_t>(ranks.rank())].data, false);
    }
    for (int step = 1; step <= steps; ++step) {
      if (roles_.number) beside::fill(inputs[*roles_.number], {static_cast<double>(step)}, false);
      if (roles_.learning_rate) beside::fill(inputs[*roles_.learning_rate], {learning_rate}, false);
      take(plan.run(ranks, inputs), inputs, ranks.rank());
    }
  }

  void take(std::vector<LocalTensor> results, std::vector<LocalTensor>& inputs, int64_t rank) {
    const std::lock_guard lock(mutex_);
    if (rank == 0 && !roles_.metrics.empty())
      trained_.losses.push_back(properties::get(results.at(roles_.metrics[0]), 0));
    for (const StateGroup& group : roles_.state)
      for (size_t i = 0; i < group.count; ++i) {
        LocalTensor &before = inputs.at(group.param + i), &after = results.at(group.result + i);
        for (int64_t k = 0; k < after.count(); ++k) {
          const double x = properties::get(after, static_cast<size_t>(k));
          trained_.finite = trained_.finite && std::isfinite(x);
          trained_.moved = trained_.moved || x != properties::get(before, static_cast<size_t>(k));
        }
        before = std::move(after);
      }
  }

  const Program& program_;
  const StepRoles& roles_;
  const denote::Sizes sizes_;
  std::vector<denote::Distributed<double>> local_;
  std::mutex mutex_;
  Trained trained_;
};

class Tiny : public testing::TestWithParam<std::string> {};

TEST_P(Tiny, Trains) {
  CheckOptions options;
  options.fixes = false;
  const Program program = Program::load(
      SHARDPROOF_SOURCE_DIR "/spec/models/" + GetParam() + ".shard", disk_reader(), options);
  const ir::Program& ir = program.checked().program();
  const auto tiny = ir.configs.find("tiny");
  int trained = 0;
  bool has_steps = false;
  for (const PlanReport& report : program.checked().plans()) {
    if (report.imported || report.verdict != Verdict::proved) continue;
    const ir::Function& plan = ir.functions.at(report.function);
    has_steps = has_steps || (plan.uses_gradients && !plan.implements_grad);
    const auto roles = roles_of_step(program, report);
    if (!roles) continue;
    ASSERT_NE(tiny, ir.configs.end()) << "a model with a training step has a config tiny";
    SCOPED_TRACE(report.name);
    EXPECT_TRUE(find_init(program, *roles))
        << "a plan draws the first state: shard-train trains it";
    const Trained result = Training(program, *roles, sizes_of(ir, tiny->second)).run();
    EXPECT_TRUE(result.finite);
    EXPECT_TRUE(result.moved);
    if (!result.losses.empty()) {
      std::cout << "    " << report.name << ": " << result.losses.front() << " to "
                << result.losses.back() << "\n";
      EXPECT_LT(result.losses.back(), result.losses.front());
    }
    ++trained;
  }
  if (!has_steps) GTEST_SKIP() << "no training step";
  EXPECT_GT(trained, 0);
}

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const std::string& path : properties::shard_files({SHARDPROOF_SOURCE_DIR "/spec/models"}))
    names.push_back(std::filesystem::path(path).stem().string());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, Tiny, testing::ValuesIn(models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace shardproof
