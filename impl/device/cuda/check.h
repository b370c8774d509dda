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

}  // namespace shardproof
