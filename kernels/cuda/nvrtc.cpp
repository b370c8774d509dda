#include "kernels/cuda/nvrtc.h"

#include <dlfcn.h>

#include <iterator>
#include <memory>
#include <stdexcept>
#include <vector>

#include "kernels/cuda/headers.h"

namespace shardproof {
namespace {

using Program = struct OpaqueProgram*;

/// Declared here, because the build does not need nvrtc.h: the library is loaded at first use.
struct Nvrtc {
  int (*version)(int*, int*) = nullptr;
  const char* (*error)(int) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  std::string missing;  ///< why it is unavailable
};

void* opened() {
  for (const char* name :
       {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

template <class Function>
void find(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) missing = std::string("NVRTC has no ") + name;
}

Nvrtc loaded() {
  Nvrtc api;
  void* library = opened();
  if (!library) {
    api.missing = "NVRTC (libnvrtc.so.13 or .12) is not found: kernels cannot be compiled here";
    return api;
  }
  find(library, "nvrtcVersion", api.version, api.missing);
  find(library, "nvrtcGetErrorString", api.error, api.missing);
  find(library, "nvrtcCreateProgram", api.create, api.missing);
  find(library, "nvrtcDestroyProgram", api.destroy, api.missing);
  find(library, "nvrtcCompileProgram", api.compile, api.missing);
  find(library, "nvrtcGetProgramLogSize", api.log_size, api.missing);
  find(library, "nvrtcGetProgramLog", api.log, api.missing);
  find(library, "nvrtcGetCUBINSize", api.cubin_size, api.missing);
  find(library, "nvrtcGetCUBIN", api.cubin, api.missing);
  return api;
}

const Nvrtc& nvrtc() {
  static const Nvrtc api = loaded();
  return api;
}

void check(int result, const std::string& log = {}) {
  if (result == 0) return;
  throw std::runtime_error(std::string("a kernel does not compile: ") + nvrtc().error(result) +
                           (log.empty() ? "" : "\n" + log));
}

/// Names of headers as generated texts include them, and their texts.
struct Headers {
  std::vector<std::string> names;
  std::vector<const char*> name_pointers, texts;

  Headers() {
    for (const auto& [name, text] : embedded_table()) add("spec/ir/" + name, text);
    for (const auto& [name, text] : embedded_kernel_headers()) add("kernels/" + name, text);
    for (const auto& [name, text] : embedded_cuda_headers()) add("kernels/cuda/" + name, text);
    for (const auto& [name, text] : embedded_fused_headers())
      add("kernels/cuda/fused/" + name, text);
    for (const std::string& name : names) name_pointers.push_back(name.c_str());
  }
  void add(std::string name, const std::string& text) {
    names.push_back(std::move(name));
    texts.push_back(text.c_str());
  }
};

std::string log_of(Program program) {
  size_t size = 0;
  check(nvrtc().log_size(program, &size));
  std::string log(size, '\0');
  check(nvrtc().log(program, log.data()));
  return log;
}

std::string cubin_of(Program program) {
  size_t size = 0;
  check(nvrtc().cubin_size(program, &size));
  std::string cubin(size, '\0');
  check(nvrtc().cubin(program, cubin.data()));
  return cubin;
}

}  // namespace

std::string nvrtc_version() {
  if (!nvrtc().missing.empty()) return {};
  int major = 0, minor = 0;
  check(nvrtc().version(&major, &minor));
  return "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
}

std::string nvrtc_compile(const std::string& source, const std::string& architecture) {
  if (!nvrtc().missing.empty()) throw std::runtime_error(nvrtc().missing);
  static const Headers headers;
  Program program = nullptr;
  check(nvrtc().create(&program, source.c_str(), "chain.cu", static_cast<int>(headers.texts.size()),
                       headers.texts.data(), headers.name_pointers.data()));
  const std::unique_ptr<Program, int (*)(Program*)> owner(&program, nvrtc().destroy);
  const std::string target = "--gpu-architecture=" + architecture;
  // Every step is rounded as on the CPU: no fused multiply-add.
  const char* options[] = {target.c_str(), "--std=c++20", "--fmad=false",
                           "--device-as-default-execution-space", "--device-int128"};
  const int result = nvrtc().compile(program, std::size(options), options);
  check(result, result ? log_of(program) : "");
  return cubin_of(program);
}

}  // namespace shardproof
