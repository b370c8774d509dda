// The laws of fused ops hold of the CUDA kernels, and of cuDNN's attention.
#include "impl/device/cuda/cuda_device.h"
#include "properties/fused/emulated_fn.h"

namespace shardproof::properties {

std::shared_ptr<Device> law_device() {
  static const std::shared_ptr<Device> devices[] = {cuda_device(0, AttentionOf::own),
                                                    cuda_device(0, AttentionOf::library),
                                                    cuda_device(0, AttentionOf::library_unordered)};
  static size_t next = 0;
  return devices[next++ % std::size(devices)];
}

}  // namespace shardproof::properties
