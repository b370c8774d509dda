// gpu_report probe FILE COMMIT DATE DRIVER: the GPU and the libraries' versions; exits with 77
// where there is no GPU. gpu_report part FOLDER NAME: what NAME's programs left in FOLDER/NAME
// becomes FOLDER/NAME.json. gpu_report all FOLDER: the parts' files become FOLDER/gpu.json and a
// table; exits with 1 where a test failed, or was skipped for want of a GPU, or where none ran. For
// ci/gpu-test, on machines that have no Python.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "spec/shell/version.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
constexpr int no_gpu = 77;

const std::vector<std::string> part_names = {"kernels",   "virtual", "nccl",
                                             "sanitizer", "bench",   "peer"};

json read(const fs::path& file) {
  std::ifstream in(file);
  const json parsed = json::parse(in, nullptr, false);
  return parsed.is_discarded() ? json() : parsed;
}

void write(const fs::path& file, const json& value) {
  std::ofstream out(file);
  out << value.dump(1, ' ', true, json::error_handler_t::replace) << "\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

/// 13000 is 13.0.
std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// A library's function that takes nothing and gives its version; null: it is not there.
template <class Call>
json of_library(const char* library, const char* function, const Call& call) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* found = handle ? dlsym(handle, function) : nullptr;
  return found ? json(call(found)) : json();
}

json versions() {
  const auto size = [](void* function) { return reinterpret_cast<size_t (*)()>(function)(); };
  const auto by_pointer = [](void* function) {
    int version = 0;
    reinterpret_cast<int (*)(int*)>(function)(&version);
    return version;
  };
  const auto nvrtc = [](void* function) {
    int major = 0, minor = 0;
    reinterpret_cast<int (*)(int*, int*)>(function)(&major, &minor);
    return std::to_string(major) + "." + std::to_string(minor);
  };
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  return {{"driver_cuda", cuda_version(driver)},
          {"cuda", cuda_version(runtime)},
          {"nccl", of_library("libnccl.so.2", "ncclGetVersion", by_pointer)},
          {"cudnn", of_library("libcudnn.so.9", "cudnnGetVersion", size)},
          {"cublaslt", of_library("libcublasLt.so.13", "cublasLtGetVersion", size)},
          {"nvrtc", of_library("libnvrtc.so.13", "nvrtcVersion", nvrtc)}};
}

int probe(const std::vector<std::string>& words) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    std::cout << "no CUDA device: " << (error ? cudaGetErrorString(error) : "there is none")
              << "\n";
    return no_gpu;
  }
  cudaDeviceProp properties{};
  if (const cudaError_t code = cudaGetDeviceProperties(&properties, 0); code != cudaSuccess)
    throw std::runtime_error(std::string("the CUDA device: ") + cudaGetErrorString(code));
  const json device = {
      {"name", properties.name},
      {"count", count},
      {"compute", std::to_string(properties.major) + "." + std::to_string(properties.minor)},
      {"memory", properties.totalGlobalMem},
      {"multiprocessors", properties.multiProcessorCount}};
  write(words[1], {{"commit", words[2]},
                   {"date", words[3]},
                   {"driver", words[4]},
                   {"device", device},
                   {"versions", versions()}});
  std::cout << properties.name << "\n";
  return 0;
}

/// The tests of one run of a program, which is named for its test, from the lines of its report.
void add_tests(json& part, const fs::path& report) {
  std::ifstream in(report);
  for (std::string line; std::getline(in, line);) {
    const json test = json::parse(line, nullptr, false);
    if (test.is_discarded()) continue;  // it died while it wrote
    const std::string name = report.stem().string();
    const std::string result = test["result"];
    part["counts"][result] = part["counts"][result].get<int>() + 1;
    if (result != "run") part[result].push_back({{"test", name}, {"why", test.value("why", "")}});
    if (test.contains("figures")) part["figures"][name] = test["figures"];
  }
}

/// A line of `programs`: its name, exit code and seconds. One that failed without a failed test
/// counts as one; what is not a test may come to the end of its time.
void add_program(json& part, const std::string& name, int exit, double seconds, int failed_before) {
  part["programs"].push_back({{"program", name}, {"exit", exit}, {"seconds", seconds}});
  if (exit == 0 || part["counts"]["failed"].get<int>() > failed_before) return;
  const bool late = exit == 124 || exit == 137;
  const json& own = part["part"];
  const bool tests = own != "sanitizer" && own != "bench" && own != "peer";
  const char* result = late && !tests ? "skipped" : "failed";
  part["counts"][result] = part["counts"][result].get<int>() + 1;
  const std::string why = late ? "no time left" : "exit code " + std::to_string(exit);
  part[result].push_back({{"test", name}, {"why", why}});
}

void make_part(const fs::path& folder, const std::string& name) {
  json part = read(folder / "probe.json");
  part["part"] = name;
  part["counts"] = {{"run", 0}, {"skipped", 0}, {"failed", 0}};
  for (const char* list : {"skipped", "failed", "programs"}) part[list] = json::array();
  part["figures"] = json::object();
  std::ifstream programs(folder / name / "programs");
  std::string program;
  int exit = 0;
  double seconds = 0;
  while (programs >> program >> exit >> seconds) {
    const int failed = part["counts"]["failed"];
    add_tests(part, folder / name / (program + ".jsonl"));
    if (const json figures = read(folder / name / (program + ".json")); !figures.is_null())
      part["figures"][program] = figures;
    add_program(part, program, exit, seconds, failed);
  }
  std::ifstream missing(folder / name / "missing");
  std::string why;
  if (std::getline(missing, why)) part["not_run"] = why;
  write(folder / (name + ".json"), part);
}

std::string row(const std::string& name, const json& part) {
  char text[160];
  double seconds = 0;
  for (const json& program : part["programs"]) seconds += program["seconds"].get<double>();
  std::snprintf(text, sizeof text, "%-10s %6d %8d %7d %8.1f s", name.c_str(),
                part["counts"]["run"].get<int>(), part["counts"]["skipped"].get<int>(),
                part["counts"]["failed"].get<int>(), seconds);
  return text + (part.contains("not_run") ? "  " + part["not_run"].get<std::string>() : "");
}

void list(const json& part, const char* what) {
  for (const json& test : part[what]) {
    std::string why = test["why"];
    std::replace(why.begin(), why.end(), '\n', ' ');
    std::cout << "  " << what << ": " << test["test"].get<std::string>() << ": "
              << why.substr(0, 160) << "\n";
  }
}

bool lacks_gpu(const json& part) {
  return std::any_of(part["skipped"].begin(), part["skipped"].end(), [](const json& test) {
    return test["why"].get<std::string>().find("no CUDA device") != std::string::npos;
  });
}

/// The steps that gpu_bench took, beside PyTorch's of the same model.
json steps_of(const json& parts) {
  const json none = json::object();
  const auto figures = [&](const char* part) {
    return parts.contains(part) ? parts[part].value("figures", none) : none;
  };
  json rows = json::array();
  const json peers = figures("peer"), own_figures = figures("bench");
  for (const json& figure : own_figures)
    for (const json& step : figure.value("steps", json::array())) {
      json row;
      for (const char* each : {"config", "sequence", "model", "tokens_per_s", "tflops",
                               "share_of_matmul", "measured_bytes", "plan_bytes", "error"})
        if (step.contains(each)) row[each] = step[each];
      const std::string name =
          step.value("config", "") + "." + std::to_string(step.value("sequence", 0));
      const double own = step.value("tokens_per_s", 0.0),
                   other = peers.value(name, none).value("tokens_per_s", 0.0);
      if (other > 0 && own > 0) {
        row["peer_tokens_per_s"] = other;
        row["times_peer"] = own / other;
      }
      rows.push_back(row);
    }
  return rows;
}

void print_step(const json& step) {
  std::printf("%-11s L=%-5lld ", step.value("config", "").c_str(),
              static_cast<long long>(step.value("sequence", 0)));
  if (step.contains("error"))
    std::printf("%s", step["error"].get<std::string>().c_str());
  else
    std::printf("%9.0f tokens/s  %6.1f TFLOP/s  %4.1f %% of the measured product",
                step.value("tokens_per_s", 0.0), step.value("tflops", 0.0),
                100 * step.value("share_of_matmul", 0.0));
  if (step.contains("times_peer"))
    std::printf("  %.2f times PyTorch", step["times_peer"].get<double>());
  std::printf("\n");
}

int make_all(const fs::path& folder) {
  json all = read(folder / "probe.json");
  json total = {{"run", 0}, {"skipped", 0}, {"failed", 0}};
  bool good = true;
  std::printf("%-10s %6s %8s %7s\n", "part", "run", "skipped", "failed");
  for (const std::string& name : part_names) {
    const json part = read(folder / (name + ".json"));
    if (part.is_null()) continue;
    for (auto& [what, count] : total.items())
      count = count.get<int>() + part["counts"][what].get<int>();
    good = good && part["counts"]["failed"] == 0 && !lacks_gpu(part);
    std::cout << row(name, part) << "\n";
    list(part, "failed");
    list(part, "skipped");
    json& kept = all["parts"][name] = part;
    for (const char* once : {"device", "versions", "commit", "date", "driver"}) kept.erase(once);
  }
  all["counts"] = total;
  if (all.contains("parts")) all["steps"] = steps_of(all["parts"]);
  for (const json& step : all.value("steps", json::array())) print_step(step);
  write(folder / "gpu.json", all);
  return good && total["run"].get<int>() > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (shardproof::shell::answers_version("gpu_report", argc, argv)) return 0;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 5 && words[0] == "probe") return probe(words);
  if (words.size() == 3 && words[0] == "part") return make_part(words[1], words[2]), 0;
  if (words.size() == 2 && words[0] == "all") return make_all(words[1]);
  std::cerr << "usage: gpu_report probe FILE COMMIT DATE DRIVER | part FOLDER NAME | all FOLDER\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << "gpu_report: " << error.what() << "\n";
  return 1;
}
