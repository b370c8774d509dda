#pragma once
// Any number of ranks on one device: what a mesh of devices computes, on a machine that has one.
#include <functional>

#include "impl/comm/communicator.h"
#include "impl/device/device.h"

namespace shardproof {

/// Runs `body` on ranks 0 .. world-1, each in its own thread with its own queues of the device, as
/// run_on_threads does. The buffers of a collective are the device's; it is given to the queue of
/// use(), and before that to one of the communicator's own, then it returns when it is done. Sums
/// are formed in the order of the group: the same bits as between threads. A rank frees a buffer
/// only when the queue that it was last used on is finished. What is recorded is one graph of all
/// ranks.
void run_on_virtual_ranks(Device& device, int world,
                          const std::function<void(Communicator&)>& body);

}  // namespace shardproof
