// gpu_bench: what a GPU reaches, as shares of what it can: its products, its copies, and PyTorch in
// the same run.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "impl/device/cuda/cuda_device.h"
#include "impl/device/rehearsal/rehearsal.h"
#include "properties/bench/gpu/kernels.h"
#include "properties/bench/gpu/steps.h"

namespace shardproof::bench {
namespace {

using nlohmann::json;

struct Options {
  std::string file, root, peer, model = "llama_causal.shard";
  bool profile = false, rehearse = false, ceiling = false;
  double peak_tflops = 989, copy_tb_per_s = 3.35;          ///< of an H100, as NVIDIA says
  AttentionOf attention = AttentionOf::library_unordered;  ///< as PyTorch's, which is unordered too
  std::vector<std::string> configs{"llama_0_5b", "llama_1_5b", "llama_7b"};
  std::vector<int64_t> lengths{1024, 4096};
};

/// The last line that the peer prints, which is JSON; null where it cannot be asked.
json peer(const Options& options, const std::string& what, int64_t length) {
  if (options.peer.empty()) return nullptr;
  const std::string command = "timeout 240 python3 " + options.peer + " " + what + " " +
                              std::to_string(length) + " 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return nullptr;
  std::string last, line;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;)
    if (c == '\n')
      last = std::exchange(line, "");
    else
      line += static_cast<char>(c);
  pclose(pipe);
  return json::accept(last) ? json::parse(last) : json(nullptr);
}

void print(const json& row) {
  std::printf("%-11s L=%-5lld %9.0f tokens/s  %6.1f TFLOP/s  %4.1f %% of the measured product",
              row.at("config").get<std::string>().c_str(), row.at("sequence").get<long long>(),
              row.at("tokens_per_s").get<double>(), row.at("tflops").get<double>(),
              100 * row.at("share_of_matmul").get<double>());
  std::printf("  %.2f GB, %.2f as planned", 1e-9 * row.at("measured_bytes").get<double>(),
              1e-9 * row.at("plan_bytes").get<double>());
  if (row.contains("times_peer"))
    std::printf("  %.2f times PyTorch", row["times_peer"].get<double>());
  std::printf("\n");
}

json run(const Options& options) {
  const std::shared_ptr<Device> device =
      options.rehearse ? rehearsal_device(1) : cuda_device(0, options.attention);
  json result = {{"device", device->name()}};
  Speed peak{1e12, 1e12};
  if (!options.rehearse) {
    result["peaks"] = peaks(*device);
    peak = {1e12 * result["peaks"]["matmul_tflops"].get<double>(),
            1e12 * result["peaks"]["copy_tb_per_s"].get<double>()};
    std::printf("products of 8192 bf16: %.0f TFLOP/s; copies: %.2f TB/s\n",
                1e-12 * peak.flops_per_s, 1e-12 * peak.bytes_per_s);
    result["kernels"] = kernels(*device, result["peaks"]);
    for (const int64_t length : options.lengths)
      if (const json other = peer(options, "attention", length); other.is_object())
        for (const auto& [name, tflops] : other.items())
          result["kernels"][name + " at " + std::to_string(length) + ", PyTorch"] = {
              {"tflops", tflops}};
    for (const auto& [name, row] : result["kernels"].items())
      if (row.contains("share_of_copy"))
        std::printf("%-24s %5.1f %% of a copy\n", name.c_str(),
                    100 * row["share_of_copy"].get<double>());
      else if (row.contains("note"))
        std::printf("%s: %s\n", name.c_str(), row["note"].get<std::string>().c_str());
      else
        std::printf("%-40s %6.1f TFLOP/s\n", name.c_str(), row["tflops"].get<double>());
  }
  const Program program = Program::load(options.root + "/spec/models/" + options.model);
  for (const std::string& config : options.configs)
    for (const int64_t length : options.lengths) {
      const StepCase one{config, length};
      json row;
      try {
        const size_t before = options.rehearse ? 0 : cuda_free_bytes();
        row = step(program, one, device, peak, options.profile,
                   [&] { return options.rehearse ? size_t{0} : before - cuda_free_bytes(); });
        if (const json other = peer(options, one.config, one.length); other.is_object()) {
          row["peer"] = other;
          row["times_peer"] =
              row["tokens_per_s"].get<double>() / other.at("tokens_per_s").get<double>();
        }
        print(row);
      } catch (const std::exception& error) {
        row = {{"config", config}, {"sequence", length}, {"error", error.what()}};
        std::printf("%-11s L=%-5lld %s\n", config.c_str(), static_cast<long long>(length),
                    error.what());
      }
      std::fflush(stdout);
      row["model"] = options.model;
      row["notes"] = device->notes();
      result["steps"].push_back(row);
      if (!options.file.empty()) std::ofstream(options.file) << result.dump(1) << "\n";
    }
  return result;
}

/// What the plans could reach if every kernel were as fast as the GPU's memory or its products.
void ceilings(const Options& options) {
  const Program program = Program::load(options.root + "/spec/models/" + options.model);
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
  app.add_option("--configs", options.configs, "Of llama_gpu.shard")->delimiter(',');
  app.add_option("--lengths", options.lengths, "Of a sequence")->delimiter(',');
  app.add_option("--peer", options.peer, "A Python file that trains the same model with PyTorch");
  app.add_flag("--profile", options.profile, "The time of each op as well");
  app.add_flag("--rehearse", options.rehearse, "On this processor: that it runs, not how fast");
  app.add_flag("--ceiling", options.ceiling, "No GPU: what the plans could reach at best");
  app.add_option("--peak", options.peak_tflops, "TFLOP/s of bf16 products, of --ceiling");
  app.add_option("--copy", options.copy_tb_per_s, "TB/s of memory, of --ceiling");
  CLI11_PARSE(app, argc, argv);
  if (options.ceiling) {
    ceilings(options);
    return 0;
  }
  std::string why;
  if (!options.rehearse && cuda_device_count(&why) == 0) {
    std::cerr << "gpu_bench: no CUDA device: " << why << "\n";
    return 77;
  }
  run(options);
  return 0;
}

}  // namespace
}  // namespace shardproof::bench

int main(int argc, char** argv) { return shardproof::bench::main_of(argc, argv); }
