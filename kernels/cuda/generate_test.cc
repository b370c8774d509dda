// Kernels that are written for one chain: what they compute, and that CUDA's compiler takes them.
#include "kernels/cuda/generate.h"

#include <gtest/gtest.h>

#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/generate_rows.h"
#include "kernels/cuda/laws/chains.h"
#include "kernels/cuda/laws/host_machine.h"
#include "kernels/cuda/laws/named_rows.h"
#include "kernels/cuda/laws/rows.h"
#include "kernels/cuda/nvrtc.h"
#include "kernels/cuda/row_launch.h"

namespace shardproof::laws {
namespace {

bool aligned(const Pointwise& op, const void* out, const void* const* inputs) {
  uintptr_t all = reinterpret_cast<uintptr_t>(out);
  for (size_t k = 0; k < op.inputs.size(); ++k) all |= reinterpret_cast<uintptr_t>(inputs[k]);
  return all % 16 == 0;
}

/// Runs kernels that the host compiler compiled from the text; `wide` counts kernels that are.
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

/// As the steps are walked; and as the text is compiled, wide where it may be: `count` says how
/// often.
Fault walked_rows(const Rowwise& op, void* const* outputs, const void* const* inputs) {
  Fault fault;
  emulated::run({nullptr, &fault, 0, nullptr}, op, outputs, inputs);
  return fault;
}
RunRowwise written_rows(int& count) {
  return [&count](const Rowwise& op, void* const* outputs, const void* const* inputs) {
    Fault fault;
    const GeneratedRows generated = generate(op);
    const RowShape& shape = generated.shape;
    const emulated::Stream stream{nullptr, &fault, 0, nullptr};
    const auto operands = emulated::row_operands(stream, op, shape, outputs, inputs);
    const bool wide = emulated::takes_wide(op, shape, operands);
    EXPECT_FALSE(wide && generated.wide_name.empty());
    count += wide;
    const HostRows kernel = host_rows(wide ? generated.wide_name : generated.name);
    if (!kernel) {
      ADD_FAILURE() << "no such kernel was compiled:\n" << generated.source;
      return fault;
    }
    kernel(operands, shape.blocks_of(wide ? shape.wide : 1), shape.shared_bytes());
    if (shape.columns) emulated::sum_columns(stream, op, shape, outputs);
    return fault;
  };
}

TEST(GeneratedRows, HasTheBitsOfTheStepsWalked) {
  int wide = 0;
  const KernelMachine machine = host_machine(nullptr);
  for (const RowwiseCase& each : compiled_rows()) {
    EXPECT_EQ(rowwise_on(machine, written_rows(wide), each), rowwise_on(machine, walked_rows, each))
        << each.op.rows << " rows of " << each.op.length << "\n"
        << generate(each.op).source;
    if (HasFailure()) return;
  }
  EXPECT_GT(wide, 5);
}

TEST(GeneratedRows, NvrtcCompilesIt) {
  if (nvrtc_version().empty()) GTEST_SKIP() << "no NVRTC here";
  for (const Rowwise& op :
       {rms_norm_backward_rows(128, 4096), rms_norm_backward_rows(128, 33),
        swiglu_backward_rows(128, 4096), cross_entropy_backward_rows(4, 1001)}) {
    const GeneratedRows generated = generate(op);
    const std::string cubin = nvrtc_compile(generated.source, "sm_90");
    EXPECT_NE(cubin.find(generated.name), std::string::npos);
    EXPECT_EQ(generated.wide_name.empty(), op.length % generated.shape.wide != 0);
    EXPECT_NE(cubin.find(generated.wide_name), std::string::npos);
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
