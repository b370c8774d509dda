#pragma once
// Collectives on host buffers by a communicator with device buffers.
#include <memory>

#include "impl/comm/communicator.h"
#include "impl/device/device.h"

namespace shardproof {

/// Copies to the device, calls `inner` on `queue`, and copies back; returns when done. `inner` uses
/// `queue` from then on. For small and rare data: a loss, the hash of a checkpoint. Keeps
/// references to all three.
std::unique_ptr<Communicator> staged(Communicator& inner, Device& device, Queue& queue);

}  // namespace shardproof
