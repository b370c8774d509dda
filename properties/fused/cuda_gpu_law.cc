// The laws of fused ops hold of the CUDA kernels.
#include "impl/device/cuda/cuda_device.h"
#include "properties/fused/rehearsed.h"

namespace shardproof::properties {

std::shared_ptr<Device> law_device() {
  static const std::shared_ptr<Device> device = cuda_device();
  return device;
}

}  // namespace shardproof::properties
