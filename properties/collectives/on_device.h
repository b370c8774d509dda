#pragma once
// A case on virtual ranks of a device.
#include "impl/comm/staged/staged.h"
#include "impl/comm/virtual/virtual_ranks.h"
#include "properties/collectives/case.h"

namespace shardproof::properties {

using Results = std::vector<Bytes>;  ///< by rank

/// The buffers are the device's.
inline Results on_device(Device& device, const CollectiveCase& c) {
  Results results(world_of(c));
  run_on_virtual_ranks(device, world_of(c), [&](Communicator& communicator) {
    const std::unique_ptr<Queue> queue = device.queue();
    results[communicator.rank()] = received(c, *staged(communicator, device, *queue));
  });
  return results;
}

}  // namespace shardproof::properties
