// gpu_bench: what a GPU reaches, as shares of what it can: its products and its copies.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "impl/device/cuda/cuda_device.h"
#include "impl/device/emulated/emulated.h"
#include "properties/bench/gpu/kernels.h"
#include "properties/bench/gpu/steps.h"
#include "spec/shell/version.h"

namespace shardproof::bench {
namespace {

using nlohmann::json;

struct Options {
  std::string file, root, model = "llama_causal.shard";
  bool kernels = true, steps = true, records = true, profile = false, emulated = false,
       ceiling = false;
  double peak_tflops = 989, copy_tb_per_s = 3.35;          ///< of an H100, as NVIDIA says
  AttentionOf attention = AttentionOf::library_unordered;  ///< as PyTorch's, which is unordered too
  ProductsBy products = ProductsBy::clock;
  std::vector<std::string> configs{"llama_0_5b", "llama_1_5b", "llama_7b"};
  std::vector<int64_t> lengths{1024, 4096};
};

void print(const json& row) {
  std::printf("%-11s L=%-5lld %9.0f tokens/s  %6.1f TFLOP/s  %4.1f %% of the measured product",
              row.at("config").get<std::string>().c_str(), row.at("sequence").get<long long>(),
              row.at("tokens_per_s").get<double>(), row.at("tflops").get<double>(),
              100 * row.at("share_of_matmul").get<double>());
  std::printf("  %.2f GB, %.2f as planned", 1e-9 * row.at("measured_bytes").get<double>(),
              1e-9 * row.at("plan_bytes").get<double>());
  std::printf("\n");
}

void print_kernel(const std::string& name, const json& row) {
  if (row.contains("share_of_copy"))
    std::printf("%-24s %5.1f %% of a copy\n", name.c_str(),
                100 * row["share_of_copy"].get<double>());
  else if (row.contains("tflops"))
    std::printf("%-40s %6.1f TFLOP/s\n", name.c_str(), row["tflops"].get<double>());
  else
    std::printf("%s: %s\n", name.c_str(), row.begin()->get<std::string>().c_str());
}

/// What has been measured so far, in the file that is asked for.
class Results {
 public:
  explicit Results(const Options& options, const std::string& device) : file_(options.file) {
    all_ = {{"device", device}, {"model", options.model}};
  }
  void set(const std::string& name, const json& value) {
    all_[name] = value;
    save();
  }
  void add_step(const json& row) {
    good_ = good_ && !row.contains("error");
    all_["steps"].push_back(row);
    save();
  }
  void set_kernels(const json& rows) {
    for (const auto& [name, row] : rows.items()) good_ = good_ && !row.contains("error");
    set("kernels", rows);
  }
  const json& operator[](const std::string& name) const { return all_.at(name); }
  bool good() const { return good_; }

 private:
  void save() const {
    std::fflush(stdout);
    if (!file_.empty()) std::ofstream(file_) << all_.dump(1) << "\n";
  }

  const std::string file_;
  json all_;
  bool good_ = true;
};

Speed measured_peak(Device& device, Results& results) {
  results.set("peaks", peaks(device));
  const Speed peak{1e12 * results["peaks"]["matmul_tflops"].get<double>(),
                   1e12 * results["peaks"]["copy_tb_per_s"].get<double>()};
  std::printf("products of 8192 bf16: %.0f TFLOP/s; copies: %.2f TB/s\n", 1e-12 * peak.flops_per_s,
              1e-12 * peak.bytes_per_s);
  return peak;
}

json step_row(const Program& program, const StepCase& one, const std::shared_ptr<Device>& device,
              const Speed& peak, const Options& options) {
  json row;
  try {
    const size_t before = options.emulated ? 0 : cuda_free_bytes();
    row = step(program, one, device, peak, options.profile,
               [&] { return options.emulated ? size_t{0} : before - cuda_free_bytes(); });
    print(row);
  } catch (const std::exception& error) {
    row = {{"config", one.config}, {"sequence", one.length}, {"error", error.what()}};
    std::printf("%-11s L=%-5lld %s\n", one.config.c_str(), static_cast<long long>(one.length),
                error.what());
  }
  row["model"] = options.model;
  row["notes"] = device->notes();
  row["graph"] = options.records;
  return row;
}

/// Whether all of it could be measured.
bool run(const Options& options) {
  const std::shared_ptr<Device> device =
      options.emulated ? emulated_device(1)
                       : cuda_device(0, options.attention, options.records, options.products);
  Results results(options, device->name());
  Speed peak{1e12, 1e12};
  if (!options.emulated) {
    peak = measured_peak(*device, results);
    if (options.kernels)
      kernels(*device, results["peaks"], [&](const json& rows) { results.set_kernels(rows); });
    if (options.kernels)
      for (const auto& [name, row] : results["kernels"].items()) print_kernel(name, row);
  }
  if (!options.steps) return results.good();
  const Program program = Program::load("spec/models/" + options.model);
  for (const std::string& config : options.configs)
    for (const int64_t length : options.lengths)
      results.add_step(step_row(program, {config, length}, device, peak, options));
  return results.good();
}

/// What the plans could reach if every kernel were as fast as the GPU's memory or its products.
void ceilings(const Options& options) {
  const Program program = Program::load("spec/models/" + options.model);
  const Speed peak{1e12 * options.peak_tflops, 1e12 * options.copy_tb_per_s};
  for (const std::string& config : options.configs)
    for (const int64_t length : options.lengths) {
      const json row = planned_step(program, {config, length}, peak);
      std::printf(
          "%-11s L=%-5lld at most %7.0f tokens/s: %7.2f ms, %5.0f kernels, %6.1f GB, "
          "%6.1f TFLOP; %.2f GB of memory\n",
          config.c_str(), static_cast<long long>(length), row["tokens_per_s"].get<double>(),
          1e3 * row["seconds"].get<double>(), row["kernels"].get<double>(),
          1e-9 * row["bytes"].get<double>(), 1e-12 * row["flops"].get<double>(),
          1e-9 * row["plan_bytes"].get<double>());
      for (const json& one : options.profile ? row["most"] : json::array())
        std::printf("  %7.2f ms  %5.0f x  %s\n", 1e3 * one["seconds"].get<double>(),
                    one["kernels"].get<double>(), one["what"].get<std::string>().c_str());
    }
}

int main_of(int argc, char** argv) {
  CLI::App app("The speed of kernels and of training steps on a GPU", "gpu_bench");
  app.set_version_flag("--version", std::string("gpu_bench ") + shell::version);
  Options options;
  const char* elsewhere = std::getenv("SHARDPROOF_ROOT");
  options.root = elsewhere ? elsewhere : SHARDPROOF_SOURCE_DIR;
  app.add_option("--json", options.file, "Where the figures go, as they come");
  app.add_option("--model", options.model,
                 "Of spec/models: llama_causal.shard, or llama_gpu.shard");
  app.add_option("--attention", options.attention, "Of the steps")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, AttentionOf>{{"own", AttentionOf::own},
                                             {"library", AttentionOf::library},
                                             {"unordered", AttentionOf::library_unordered}}));
  app.add_option("--products", options.products, "How cuBLASLt's algorithm is chosen")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ProductsBy>{
          {"estimate", ProductsBy::estimate}, {"clock", ProductsBy::clock}}));
  app.add_option("--configs", options.configs, "Of llama_gpu.shard")->delimiter(',');
  app.add_option("--lengths", options.lengths, "Of a sequence")->delimiter(',');
  app.add_flag("!--no-kernels", options.kernels, "Steps alone");
  app.add_flag("!--no-steps", options.steps, "Kernels alone");
  app.add_flag("!--no-graph", options.records, "Each step is given launch by launch");
  app.add_flag("--profile", options.profile, "The time of each op as well");
  app.add_flag("--emulated", options.emulated, "On this processor: that it runs, not how fast");
  app.add_flag("--ceiling", options.ceiling, "No GPU: what the plans could reach at best");
  app.add_option("--peak", options.peak_tflops, "TFLOP/s of bf16 products, of --ceiling");
  app.add_option("--copy", options.copy_tb_per_s, "TB/s of memory, of --ceiling");
  CLI11_PARSE(app, argc, argv);
  // Places of steps are named from there.
  if (!options.file.empty()) options.file = std::filesystem::absolute(options.file);
  std::filesystem::current_path(options.root);
  if (options.ceiling) {
    ceilings(options);
    return 0;
  }
  std::string why;
  if (!options.emulated && cuda_device_count(&why) == 0) {
    std::cerr << "gpu_bench: no CUDA device: " << why << "\n";
    return 77;
  }
  return run(options) ? 0 : 1;
}

}  // namespace
}  // namespace shardproof::bench

int main(int argc, char** argv) try {
  return shardproof::bench::main_of(argc, argv);
} catch (const std::exception& error) {
  std::cerr << "gpu_bench: " << error.what() << "\n";
  return 1;
}
