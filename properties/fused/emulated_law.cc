// The laws of fused ops hold of their CUDA kernels on the emulator.
#include "impl/device/emulated/emulated.h"
#include "properties/fused/emulated_fn.h"

namespace shardproof::properties {

std::shared_ptr<Device> law_device() {
  static uint64_t seed = 0;
  return emulated_device(++seed);
}

}  // namespace shardproof::properties
