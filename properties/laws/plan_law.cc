// What is proved is what runs: every accepted plan of the models and of the golden files, run by
// the core on thread ranks of random meshes, gives what the oracle makes of its model on whole
// tensors: values, gradients and steps.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>

#include "properties/generators/mesh_points.h"
#include "properties/generators/plan_run.h"
#include "spec/check/points.h"

namespace shardproof {
namespace {

using properties::PlanCase;

const std::string root = SHARDPROOF_SOURCE_DIR;

std::vector<std::string> files(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root + folder))
    if (const std::string path = entry.path().string();
        entry.path().extension() == ".shard" && path.find("/syntax/") == std::string::npos &&
        path.find("/impossible/") == std::string::npos)
      paths.push_back(path);
  std::sort(paths.begin(), paths.end());
  return paths;
}

struct Tally {
  int values = 0, gradients = 0, steps = 0;
  std::vector<std::string> left;
};

bool accepted(const PlanReport& plan) {
  return plan.verdict == Verdict::proved || plan.verdict == Verdict::unknown;
}

exec::FindBackward backwards_of(const Program& program) {
  return [&program](const exec::Unit& plan, const std::vector<size_t>& wrt) {
    const CheckedBackward& backward = program.backward(plan.function, wrt);
    return exec::Unit{&backward.checked->program(), &backward.checked->types(),
                      backward.sources.get(), backward.report()->function};
  };
}

bool finite(const std::vector<oracle::Tensor>& tensors) {
  for (const oracle::Tensor& tensor : tensors)
    for (double x : tensor.data)
      if (!std::isfinite(x)) return false;
  return true;
}

/// Runs the plan on a few meshes. Empty where all agree with the claim.
std::string first_difference(const Program& program, const PlanReport& report, int meshes) {
  const CheckedProgram& checked = program.checked();
  std::vector<Divisibility> conditions;
  for (const PlanReport& each : checked.plans())
    conditions.insert(conditions.end(), each.conditions.begin(), each.conditions.end());
  int runs = 0;
  for (unsigned seed = 1; runs < meshes && seed < 40; ++seed) {
    std::mt19937_64 rng(seed);
    const auto sizes = properties::mesh_sizes(checked.program(), conditions, rng);
    if (!sizes) throw PlanError("no small mesh meets its conditions");
    PlanCase one{{&checked.program(), &checked.types(), &program.sources(), report.function},
                 backwards_of(program),
                 *sizes,
                 {},
                 {}};
    std::vector<oracle::Tensor> wanted;
    for (Draw draw : {Draw::mixed, Draw::positive}) {
      one.whole = random_inputs(checked.program(), one.unit.plan(), *sizes, seed, draw);
      try {
        wanted = properties::claimed(one);
      } catch (const oracle::Error& error) {
        if (std::string(error.what()).find("of") == std::string::npos) throw;
        continue;  // an index beyond its dim at these sizes
      }
      if (finite(wanted)) break;
    }
    if (wanted.empty() || !finite(wanted)) continue;
    properties::spread(one, rng);
    const auto got = properties::run_on_ranks(one, {.precision = Precision::f64});
    const std::string found = properties::difference(got, wanted, {1e-8});
    if (!found.empty()) return properties::text(one) + ", " + found;
    ++runs;
  }
  if (runs == 0) throw PlanError("nothing is claimed at small sizes");
  return "";
}

void run_file(const std::string& path, Tally& tally) {
  SCOPED_TRACE(path);
  CheckOptions options;
  options.fixes = false;
  const Program program = Program::load(path, disk_reader(), options);
  for (const PlanReport& report : program.checked().plans()) {
    const ir::Function& function = program.checked().program().functions.at(report.function);
    if (function.imported || function.trusted || function.kind != ir::Function::Kind::plan ||
        !accepted(report))
      continue;
    try {
      EXPECT_EQ(first_difference(program, report, 2), "") << function.name;
      ++(function.implements_grad  ? tally.gradients
         : function.uses_gradients ? tally.steps
                                   : tally.values);
    } catch (const std::exception& error) {
      tally.left.push_back(path.substr(root.size()) + " " + function.name + ": " + error.what());
    }
  }
}

void print(const Tally& tally) {
  std::cout << "    " << tally.values << " plans, " << tally.gradients << " gradients and "
            << tally.steps << " steps; not run: " << tally.left.size() << "\n";
  for (const std::string& each : tally.left) std::cout << "      " << each << "\n";
}

TEST(Plans, OfTheModelsRunAsProved) {
  Tally tally;
  for (const std::string& path : files("/spec/models")) run_file(path, tally);
  print(tally);
  EXPECT_GE(tally.values, 40);
  EXPECT_GE(tally.steps, 10);
}

TEST(Plans, OfTheGoldenFilesRunAsProved) {
  Tally tally;
  for (const std::string& path : files("/spec/tests")) run_file(path, tally);
  print(tally);
  EXPECT_GE(tally.values, 100);
}

}  // namespace
}  // namespace shardproof
