// Derived backwards and the steps that use them, run on all devices of small meshes, give the
// gradient by dual numbers: the derivation, its collectives and the types are tested here by
// numbers alone. Whole models take part with SHARDPROOF_FULL=1 only.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "properties/faults/numbers.h"
#include "properties/generators/shard_files.h"
#include "properties/generators/with_backwards.h"

namespace shardproof {
namespace {

bool full() { return std::getenv("SHARDPROOF_FULL") != nullptr; }

/// Whole models take seconds each, and the gradient of a gradient at literal sizes, all of them 8,
/// minutes.
bool small(const std::string& path) {
  if (path.find("/imported_gradient_concrete.") != path.npos) return false;
  return path.find("/spec/models/") == path.npos || path.find("/data_parallel.") != path.npos ||
         path.find("/pairwise_ffn.") != path.npos || path.find("/megatron_mlp.") != path.npos;
}

/// Not the files that cannot be read as programs, or that are wrong.
std::vector<std::string> files() {
  std::vector<std::string> paths = properties::shard_files(
      {SHARDPROOF_SOURCE_DIR "/spec/models", SHARDPROOF_SOURCE_DIR "/spec/tests"},
      {"/syntax/", "/impossible/", "/soundness/", "_broken.", "/after_a_plan_that_requires"});
  std::erase_if(paths, [](const std::string& path) { return !full() && !small(path); });
  return paths;
}

TEST(DerivedBackward, GivesTheGradientOnMeshes) {
  int backwards = 0, steps = 0;
  for (const std::string& path : files()) {
    SCOPED_TRACE(path);
    const auto file = properties::with_backwards(path, disk_reader(), true);
    if (!file) continue;
    const auto run = [&](size_t plan) {
      const auto ran = faults::run_on_meshes(file->program, file->types, plan, file->backwards);
      EXPECT_EQ(ran.difference, "") << file->program.functions.at(plan).name;
      return ran.meshes > 0;
    };
    for (size_t plan : file->derived) backwards += run(plan);
    for (size_t plan : file->written)
      if (file->program.functions.at(plan).uses_gradients) steps += run(plan);
  }
  std::cout << "    " << backwards << " derived backwards and " << steps << " steps on meshes\n";
  EXPECT_GT(backwards, full() ? 200 : 100);
  EXPECT_GT(steps, full() ? 40 : 20);
}

}  // namespace
}  // namespace shardproof
