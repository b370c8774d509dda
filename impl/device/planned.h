#pragma once
#include "impl/device/device.h"

namespace shardproof {

/// A GPU that is not there: plans that are made for it tell what they would take, and none runs. It
/// has the kernels of the CUDA device, with the library's attention, and its allocations have a
/// size and no memory.
std::shared_ptr<Device> planned_device();

}  // namespace shardproof
