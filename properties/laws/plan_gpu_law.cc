// What is proved is what runs, on a GPU: every accepted plan of the models on virtual ranks of one
// GPU gives what the oracle makes of its model on whole tensors.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "impl/device/cuda/cuda_device.h"
#include "properties/generators/plan_run.h"
#include "properties/generators/shard_files.h"
#include "spec/check/mesh_points.h"

namespace shardproof {
namespace {

using properties::PlanCase;

/// The repository, or a bundle that has its models.
std::string root() {
  const char* elsewhere = std::getenv("SHARDPROOF_ROOT");
  return elsewhere ? elsewhere : SHARDPROOF_SOURCE_DIR;
}

std::string first_difference(const Program& program, const PlanReport& report,
                             const std::shared_ptr<Device>& device) {
  const std::vector<Divisibility> conditions = all_conditions(program.checked());
  PlanCase one = properties::case_of(program, report);
  int runs = 0;
  for (unsigned seed = 1; runs < 2 && seed < 40; ++seed) {
    const auto wanted = properties::draw(one, conditions, seed, false);
    if (!wanted) continue;
    const properties::RoundingBounds bounds = properties::rounding_bounds(one, *wanted);
    if (!properties::would_see_a_factor(*wanted, bounds.f32)) continue;
    ++runs;
    const auto on_gpu = [&](Precision precision) {
      return properties::run_on_ranks(one,
                                      {.precision = precision, .overlap = true, .device = device});
    };
    std::string found = properties::difference(on_gpu(Precision::f64), *wanted, bounds.f64);
    if (found.empty()) found = properties::difference(on_gpu(Precision::f32), *wanted, bounds.f32);
    if (found.empty())
      found = properties::difference(on_gpu(Precision::as_written), *wanted,
                                     properties::written_bounds(one, *wanted));
    if (!found.empty()) return properties::text(one) + ", " + found;
    if (properties::run_on_ranks(one, {.overlap = true, .device = device}) !=
        properties::run_on_ranks(one, {.overlap = true, .device = device}))
      return properties::text(one) + ": other bits the second time";
  }
  return runs ? "" : "nothing is claimed at small sizes";
}

class PlansOnAGpu : public testing::TestWithParam<std::string> {};

TEST_P(PlansOnAGpu, RunAsProved) {
  const std::shared_ptr<Device> device = cuda_device();
  CheckOptions options;
  options.fixes = false;
  const Program program =
      Program::load(root() + "/spec/models/" + GetParam(), disk_reader(), options);
  int plans = 0;
  for (const PlanReport& report : program.checked().plans()) {
    const ir::Function& function = program.checked().program().functions.at(report.function);
    if (function.imported || function.kind != ir::Function::Kind::plan ||
        report.verdict != Verdict::proved)
      continue;
    EXPECT_EQ(first_difference(program, report, device), "") << function.name;
    ++plans;
  }
  RecordProperty("plans", plans);
  EXPECT_GT(plans, 0);
}

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const std::string& path : properties::shard_files({root() + "/spec/models"}, {}))
    names.push_back(path.substr(path.rfind('/') + 1));
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, PlansOnAGpu, testing::ValuesIn(models()), [](const auto& info) {
  return info.param.substr(0, info.param.find('.'));
});

}  // namespace
}  // namespace shardproof
