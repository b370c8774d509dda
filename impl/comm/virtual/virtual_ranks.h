#pragma once
// Any number of ranks on one device: runs the program of a mesh on a machine with one device.
#include <functional>

#include "impl/comm/communicator.h"
#include "impl/device/device.h"

namespace shardproof {

/// Runs `body` on ranks 0 .. world-1, each in its own thread with its own streams, like
/// run_on_threads. Collective buffers are on the device. A collective is enqueued on the stream
/// of use(); before use() was called, on a stream of the communicator, and then it returns when
/// done. Sums are in the order of the group, with the same bits as between threads. A rank must
/// not free a buffer before the last stream that used it is finished. A recorded graph contains
/// all ranks.
void run_on_virtual_ranks(Device& device, int world,
                          const std::function<void(Communicator&)>& body);

}  // namespace shardproof
