// Plans run on all devices of small meshes, at the types the checker gave: what the devices hold is
// the model's value, and of a plan that claims a gradient the gradient by dual numbers. Neither the
// algebra nor the adjoints of the rules have a part in it.
#include <gtest/gtest.h>

#include <iostream>

#include "properties/generators/mesh_run.h"
#include "properties/generators/shard_files.h"
#include "spec/check/refute.h"

namespace shardproof {
namespace mesh_run_law {

/// Proved, or not decided because of its gradient alone.
bool accepted(const PlanReport& plan) {
  // What two instances of a plan with `{?_t}` share is printed once.
  const bool decided = plan.verdict == Verdict::proved || plan.verdict == Verdict::unknown;
  if (!decided || !plan.read_whole) return false;
  return std::all_of(plan.diagnostics.begin(), plan.diagnostics.end(), [](const Diagnostic& each) {
    return each.severity != Severity::error || each.code == "U0002";
  });
}

struct Tally {
  int plans = 0, gradients = 0;
  std::vector<std::string> left;  ///< what cannot be run, and why
};

void run_file(const CheckedProgram& checked, Tally& tally) {
  const denote::Backwards backwards = properties::written_backwards(checked.program());
  for (const PlanReport& plan : checked.plans()) {
    const ir::Function& function = checked.program().functions.at(plan.function);
    if (function.imported || function.trusted || !accepted(plan)) continue;
    try {
      EXPECT_EQ(properties::first_difference(checked, plan.function, backwards), "");
      ++(function.implements_grad ? tally.gradients : tally.plans);
    } catch (const denote::Error& error) {
      tally.left.push_back(function.name + ": " + error.what());
    }
  }
}

/// Not the files that cannot be read as programs, nor those that require what is not drawn.
std::vector<std::string> files() {
  return properties::shard_files(
      {SHARDPROOF_SOURCE_DIR "/spec/models", SHARDPROOF_SOURCE_DIR "/spec/tests"},
      {"/syntax/", "/impossible/", "/contradiction_of_values", "/after_a_plan_that_requires"});
}

CheckedProgram checked_file(const std::string& path, const FileReader& reader) {
  Sources sources;
  CheckOptions options;
  options.fixes = false;
  return check(sources, path, reader, options);
}

TEST(MeshRuns, GiveTheModelsValuesAndGradients) {
  Tally tally;
  for (const std::string& path : files()) {
    SCOPED_TRACE(path);
    run_file(checked_file(path, disk_reader()), tally);
  }
  std::cout << "    " << tally.plans << " plans and " << tally.gradients
            << " gradients on three meshes each; not run:\n";
  for (const std::string& each : tally.left) std::cout << "      " << each << "\n";
  EXPECT_GT(tally.plans, 100);
  EXPECT_GE(tally.gradients, 6);
  const auto steps =
      std::count_if(tally.left.begin(), tally.left.end(),
                    [](const std::string& each) { return each.ends_with("without its backward"); });
  EXPECT_LE(tally.left.size() - static_cast<size_t>(steps), 5u);
}

/// What refutes a claim of a gradient or a step has nothing to say of the models'.
TEST(OneDevice, RefutesNoGradientAndNoStepOfTheModels) {
  int claims = 0;
  for (const char* file : {"data_parallel", "llama_backward", "llama_train", "pairwise_ffn"}) {
    const CheckedProgram checked = checked_file(
        SHARDPROOF_SOURCE_DIR "/spec/models/" + std::string(file) + ".shard", disk_reader());
    for (const PlanReport& plan : checked.plans()) {
      const ir::Function& function = checked.program().functions.at(plan.function);
      if (function.imported || !(function.uses_gradients || function.implements_grad)) continue;
      std::string why;
      EXPECT_FALSE(refute(checked.program(), plan.function, &why)) << function.name;
      EXPECT_EQ(why, "") << function.name;
      ++claims;
    }
  }
  EXPECT_GE(claims, 12);
}

/// The law is not empty: a wrong gradient is seen, whatever its types.
TEST(MeshRuns, SeeAWrongGradient) {
  const std::string path = SHARDPROOF_SOURCE_DIR "/spec/models/pairwise_ffn.shard";
  const auto differences = [&](const std::string& from, const std::string& to) {
    const CheckedProgram checked =
        checked_file(path, [&](const std::string& wanted) -> std::optional<std::string> {
          std::string text = disk_reader()(wanted).value();
          if (wanted == path) text.replace(text.find(from), from.size(), to);
          return text;
        });
    int found = 0;
    for (const PlanReport& plan : checked.plans())
      if (checked.program().functions[plan.function].implements_grad)
        found += !properties::first_difference(checked, plan.function, {}).empty();
    return found;
  };
  EXPECT_EQ(differences("relu_grad(g_h, z)", "relu_grad(g_h, z)"), 0);
  EXPECT_EQ(differences("relu_grad(g_h, z)", "relu_grad(g_h, h * 2 - 1)"), 1);
  EXPECT_EQ(differences("h, g)", "z, g)"), 1);
}

}  // namespace mesh_run_law
}  // namespace shardproof
