#pragma once
#include "impl/device/device.h"

namespace shardproof {

/// A GPU that need not exist: a plan that is compiled for it reports the memory that it would use,
/// but cannot run. It has the kernels of the CUDA device, with the library's attention, and its
/// allocations have a size but no memory.
std::shared_ptr<Device> planned_device();

}  // namespace shardproof
