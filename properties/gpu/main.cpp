// The main program of tests that need a GPU: without one all of them are skipped, with the reason.
// --report=FILE: a line of JSON for each test, as it ends, for ci/gpu-test.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "impl/device/cuda/cuda_device.h"

namespace {

class Gpu : public testing::Environment {
  void SetUp() override {
    std::string why;
    if (shardproof::cuda_device_count(&why) == 0) GTEST_SKIP() << "no CUDA device: " << why;
  }
};

class Report : public testing::EmptyTestEventListener {
 public:
  explicit Report(const std::string& file) : out_(file) {}

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.passed()) why_ += std::string(result.message()) + "\n";
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& result = *test.result();
    nlohmann::json line = {{"test", std::string(test.test_suite_name()) + "." + test.name()},
                           {"result", result.Failed()    ? "failed"
                                      : result.Skipped() ? "skipped"
                                                         : "run"},
                           {"seconds", static_cast<double>(result.elapsed_time()) / 1000}};
    if (!why_.empty()) line["why"] = why_;
    for (int i = 0; i < result.test_property_count(); ++i)
      line["figures"][result.GetTestProperty(i).key()] = result.GetTestProperty(i).value();
    out_ << line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << std::endl;
    why_.clear();
  }

 private:
  std::ofstream out_;
  std::string why_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(new Gpu);
  const std::string option = "--report=", given = argc > 1 ? argv[1] : "";
  if (given.starts_with(option))
    testing::UnitTest::GetInstance()->listeners().Append(new Report(given.substr(option.size())));
  return RUN_ALL_TESTS();
}
