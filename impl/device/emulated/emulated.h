#pragma once
// An emulated GPU: the CUDA kernels run on the CPU, from streams whose work runs later, in any
// order that events allow.
#include "impl/device/device.h"

namespace shardproof {

/// An emulator for plans that are compiled for a GPU. `seed` chooses the order of launches among
/// all streams of the device; new memory is filled with NaN. So a missing wait, or a read before
/// the write, shows in the numbers. Results of vendor libraries are computed from the graph that
/// the plan asks for; `seed` also chooses between two equivalent graphs. Several threads can use
/// the streams.
std::shared_ptr<Device> emulated_device(uint64_t seed);

}  // namespace shardproof
