#pragma once
#include <cuda_runtime.h>

#include "impl/device/device.h"

namespace shardproof {

/// Throws DeviceError: `what` and CUDA's name and text for the error.
inline void check_cuda(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // it has been told
  throw DeviceError(what + ": " + cudaGetErrorName(error) + ": " + cudaGetErrorString(error));
}

}  // namespace shardproof
