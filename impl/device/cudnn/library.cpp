#include "impl/device/cudnn/library.h"

#include <dlfcn.h>

#include <array>

#include "impl/device/device.h"

namespace shardproof::cudnn {
namespace {

constexpr size_t oldest = 90800;  ///< plans for a named GPU, and -infinity in masks

void* opened() {
  for (const char* name : {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9",
                           "/usr/local/cuda/lib/libcudnn.so.9"})
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
  return nullptr;
}

template <class Function>
void find(void* handle, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (!function) missing = std::string("cuDNN has no ") + name;
}

Library loaded() {
  Library api;
  void* handle = opened();
  if (!handle) {
    api.missing = "cuDNN (libcudnn.so.9) is not found";
    return api;
  }
  find(handle, "cudnnGetVersion", api.version, api.missing);
  find(handle, "cudnnCreate", api.create, api.missing);
  find(handle, "cudnnDestroy", api.destroy, api.missing);
  find(handle, "cudnnSetStream", api.set_stream, api.missing);
  find(handle, "cudnnGetLastErrorString", api.last_error, api.missing);
  find(handle, "cudnnBackendCreateDescriptor", api.create_descriptor, api.missing);
  find(handle, "cudnnBackendDestroyDescriptor", api.destroy_descriptor, api.missing);
  find(handle, "cudnnBackendSetAttribute", api.set, api.missing);
  find(handle, "cudnnBackendGetAttribute", api.get, api.missing);
  find(handle, "cudnnBackendFinalize", api.finalize, api.missing);
  find(handle, "cudnnBackendExecute", api.execute, api.missing);
  if (api.missing.empty() && api.version() < oldest)
    api.missing = "cuDNN " + std::to_string(api.version()) + " is older than 9.8";
  return api;
}

}  // namespace

const Library& library() {
  static const Library api = loaded();
  return api;
}

std::string described() {
  if (!library().missing.empty()) return library().missing;
  const size_t version = library().version();
  return "cuDNN " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100);
}

void check(cudnnStatus_t status, const std::string& what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 1024> said{};
  library().last_error(said.data(), said.size());
  throw DeviceError(what + ": cuDNN's status " + std::to_string(status) + ": " + said.data());
}

}  // namespace shardproof::cudnn
