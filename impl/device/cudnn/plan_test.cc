// cuDNN makes plans of the graphs of attention, for a GPU that need not be there.
#include "impl/device/cudnn/plan.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "impl/device/cudnn/library.h"
#include "impl/device/device.h"
#include "impl/device/graph/attention_call.h"
#include "impl/device/graph/attention_shapes.h"

namespace shardproof::cudnn {
namespace {

/// An H200 as cuDNN describes it.
const char* const h200 =
    R"({"cudaDeviceId":0,"deviceVer":900,"driverVer":13000,"maxGridSize":[2147483647,65535,65535],)"
    R"("maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":132,)"
    R"("smClockRateKHz":1980000,"memClockRateKHz":3201000,"l2CacheSize":62914560,"warpSize":32,)"
    R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,)"
    R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"pciDeviceId":0,)"
    R"("maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"isTccDriver":0,)"
    R"("supportCoopLaunch":1,"totalGlobalMem":150000000000,"deviceName":"NVIDIA H200"})";

class Plans : public testing::Test {
 protected:
  void SetUp() override {
    // Takes precedence over others of its name: cuDNN loads its compiled kernels by the driver.
    if (!dlopen(DRIVER, RTLD_NOW | RTLD_GLOBAL)) FAIL() << dlerror();
    if (!library().missing.empty()) GTEST_SKIP() << library().missing;
  }
};

// As llama_causal.shard has them, and one of odd sizes. Plans for memory without a GPU go by the
// usual workspace.
TEST_F(Plans, AreMadeOfAttentionAndItsGradient) {
  AttentionGrad packed = causal_attention(4, 1024, 8, 2, 64);
  packed.mask_kind = MaskKind::segments;
  packed.mask = {{0, 1024 * 1024, 0}, 1024, 0, 1};
  for (const AttentionGrad& op :
       {causal_attention(16, 1024, 8, 2, 64), causal_attention(2, 1030, 8, 4, 128), packed})
    for (const auto& call :
         {AttentionCall::of(forward_of(op)), AttentionCall::of(op, false), AttentionCall::of(op)}) {
      const Plan plan(call.value().graph(), {.properties = h200});
      const auto usual = static_cast<double>(call->usual_workspace());
      EXPECT_NEAR(static_cast<double>(plan.workspace()), usual, 0.02 * usual);
    }
}

TEST_F(Plans, AreRefusedWithCudnnsReason) {
  auto call = AttentionCall::of(forward_of(causal_attention(2, 64, 2, 2, 64)));
  TensorGraph graph = call->graph();
  graph.tensors[graph.ops.back().result].extents[3] = 48;  // o is narrower than v
  EXPECT_THROW(Plan(graph, {.properties = h200}), DeviceError);
  EXPECT_THROW(Plan(call->graph(), {.properties = "{}"}), DeviceError);
}

}  // namespace
}  // namespace shardproof::cudnn
