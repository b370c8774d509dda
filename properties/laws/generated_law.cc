// The kernels that a GPU gets for the chains of a training step compile, for the GPUs that are
// meant.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "impl/compile/compile_plan.h"
#include "impl/device/emulated/emulated.h"
#include "impl/plan/steps.h"
#include "kernels/cuda/generate.h"
#include "kernels/cuda/generate_rows.h"
#include "kernels/cuda/nvrtc.h"

namespace shardproof {
namespace {

void collect(const std::vector<plan::Step>& steps, std::set<std::string>& sources) {
  for (const plan::Step& step : steps) {
    collect(step.body, sources);
    if (step.kernel)
      if (const auto* chain = std::get_if<Pointwise>(&step.kernel->op))
        if (const Generated text = generate(*chain); text.items > 0) sources.insert(text.source);
    if (step.fused)
      if (const auto* rows = std::get_if<Rowwise>(&step.fused->op))
        sources.insert(generate(*rows).source);
  }
}

TEST(GeneratedKernels, OfATrainingStepCompile) {
  if (nvrtc_version().empty()) GTEST_SKIP() << "there is no NVRTC";
  const Program program = Program::load(SHARDPROOF_SOURCE_DIR "/spec/models/llama_gpu.shard");
  const DimSizes sizes{{"B", 2}, {"L", 16}, {"M", 32}, {"F", 48}, {"Q", 2},
                       {"K", 2}, {"D", 32}, {"V", 64}, {"N", 2}};
  std::set<std::string> sources;
  const Plan plan = compile_plan(program, "step_fused", Mesh::parse("d=2,t=2"), sizes, 3,
                                 {.overlap = true, .device = emulated_device(1)});
  collect(plan.steps(), sources);
  EXPECT_GT(sources.size(), 15u);
  size_t compiled = 0, bytes = 0;
  for (const std::string& source : sources) {
    if (++compiled > 24 && !std::getenv("SHARDPROOF_FULL")) break;
    const std::string cubin = nvrtc_compile(source, "sm_90");
    EXPECT_FALSE(cubin.empty());
    bytes += cubin.size();
  }
  std::cout << "    " << sources.size() << " chains, " << bytes << " bytes of sm_90\n";
}

}  // namespace
}  // namespace shardproof
