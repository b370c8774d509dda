#pragma once
// Collectives of the host's buffers by a communicator whose buffers are a device's.
#include <memory>

#include "impl/comm/communicator.h"
#include "impl/device/device.h"

namespace shardproof {

/// Copies to the device, calls `inner` on `queue`, and copies back: it returns when that is done,
/// and `inner` uses `queue` from then on. For what is small and seldom: a loss, the hash of a
/// checkpoint. Refers to all three.
std::unique_ptr<Communicator> staged(Communicator& inner, Device& device, Queue& queue);

}  // namespace shardproof
