// The main program of tests that need a GPU: without one all of them are skipped, with the reason.
#include <gtest/gtest.h>

#include "impl/device/cuda/cuda_device.h"

namespace {

class Gpu : public testing::Environment {
  void SetUp() override {
    std::string why;
    if (shardproof::cuda_device_count(&why) == 0) GTEST_SKIP() << "no CUDA device: " << why;
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(new Gpu);
  return RUN_ALL_TESTS();
}
