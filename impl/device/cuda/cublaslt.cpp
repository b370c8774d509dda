#include "impl/device/cuda/cublaslt.h"

#include <dlfcn.h>

namespace shardproof {
namespace {

#define SHARDPROOF_TEXT(x) #x
#define SHARDPROOF_SONAME(major) "libcublasLt.so." SHARDPROOF_TEXT(major)
// Only the version of the headers: its structs are filled in place.
constexpr char file[] = SHARDPROOF_SONAME(CUBLAS_VER_MAJOR);

void* opened() {
  for (const char* folder : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"})
    if (void* handle = dlopen((std::string(folder) + file).c_str(), RTLD_NOW | RTLD_LOCAL))
      return handle;
  return nullptr;
}

CublasLt loaded() {
  CublasLt api;
  void* const handle = opened();
  if (!handle) {
    api.missing = std::string("cuBLASLt (") + file + ") is not found";
    return api;
  }
#define SHARDPROOF_CALL(name)                                                       \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(handle, "cublasLt" #name)); \
  if (!api.name) api.missing = "cuBLASLt has no cublasLt" #name;
  SHARDPROOF_CUBLASLT(SHARDPROOF_CALL)
#undef SHARDPROOF_CALL
  return api;
}

}  // namespace

const CublasLt& cublaslt() {
  static const CublasLt api = loaded();
  return api;
}

}  // namespace shardproof
