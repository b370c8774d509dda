#pragma once
#include <cuda_runtime.h>

#include "impl/device/device.h"

namespace shardproof {

/// Throws DeviceError with `what` and CUDA's name and text of the error.
inline void check_cuda(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clears the error
  throw DeviceError(what + ": " + cudaGetErrorName(error) + ": " + cudaGetErrorString(error));
}

/// Memory of the current GPU. Throws as check_cuda does.
inline Buffer device_memory(size_t bytes, const std::string& what) {
  void* memory = nullptr;
  if (bytes) check_cuda(cudaMalloc(&memory, bytes), what);
  return Buffer(bytes, static_cast<std::byte*>(memory), [](std::byte* data) { cudaFree(data); });
}

}  // namespace shardproof
