// Kernels that are written for one chain: what they compute, and that CUDA's compiler takes them.
#include "kernels/cuda/generate.h"

#include <gtest/gtest.h>

#include "kernels/cuda/laws/chains.h"
#include "kernels/cuda/laws/host_machine.h"
#include "kernels/cuda/nvrtc.h"

namespace shardproof::laws {
namespace {

bool aligned(const Pointwise& op, const void* out, const void* const* inputs) {
  uintptr_t all = reinterpret_cast<uintptr_t>(out);
  for (size_t k = 0; k < op.inputs.size(); ++k) all |= reinterpret_cast<uintptr_t>(inputs[k]);
  return all % 16 == 0;
}

/// Runs what the host's compiler made of the text; `wide` counts kernels that are.
KernelMachine written_machine(bool wide, int& count) {
  return host_machine([wide, &count](const KernelOp& given, void* out, const void* const* inputs) {
    const auto& op = std::get<Pointwise>(given);
    const Generated generated = generate(op);
    const bool takes_wide = wide && !generated.wide_name.empty() && aligned(op, out, inputs);
    count += takes_wide;
    Fault fault;
    const HostKernel kernel = host_kernel(takes_wide ? generated.wide_name : generated.name);
    if (kernel)
      kernel(out, inputs, &fault, 3);
    else
      ADD_FAILURE() << "no such kernel was compiled:\n" << generated.source;
    return fault;
  });
}

TEST(Generated, ComputesWhatTheCpuDoes) {
  int wide = 0;
  const KernelMachine scalar = written_machine(false, wide), both = written_machine(true, wide);
  for (uint64_t seed = 0; seed < compiled_chains; ++seed) {
    const auto op = std::get<Pointwise>(random_case(OpKind::pointwise, seed).op);
    ASSERT_EQ(broken(scalar, OpKind::pointwise, seed), "") << generate(op).source;
    ASSERT_EQ(broken(both, OpKind::pointwise, seed), "") << generate(op).source;
  }
  EXPECT_GT(wide, 10);
}

TEST(Generated, TheSameTextForTheSameOp) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto op = std::get<Pointwise>(random_case(OpKind::pointwise, seed).op);
    EXPECT_EQ(generate(op).source, generate(op).source);
  }
}

TEST(Generated, NvrtcCompilesIt) {
  if (nvrtc_version().empty()) GTEST_SKIP() << "no NVRTC here";
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const auto op = std::get<Pointwise>(random_case(OpKind::pointwise, seed).op);
    const Generated generated = generate(op);
    const std::string cubin = nvrtc_compile(generated.source, "sm_90");
    EXPECT_EQ(cubin.substr(1, 3), "ELF");
    EXPECT_NE(cubin.find(generated.name), std::string::npos);
  }
}

TEST(Generated, NvrtcSaysWhatIsWrong) {
  if (nvrtc_version().empty()) GTEST_SKIP() << "no NVRTC here";
  try {
    nvrtc_compile("__global__ void f() { unknown(); }", "sm_90");
    FAIL() << "it compiled";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("unknown"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace shardproof::laws
