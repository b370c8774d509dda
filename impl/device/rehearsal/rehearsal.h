#pragma once
// A device without hardware: CUDA's kernels on this processor, given to queues whose work is done
// later, in any order that events allow.
#include "impl/device/device.h"

namespace shardproof {

/// What a plan for a GPU is rehearsed on. The order is drawn from `seed`, among all queues of the
/// device, one launch at a time; memory is filled with NaN when it is allocated. So a missing wait,
/// or a read of what is not written, shows in the numbers. What a GPU's library would compute is
/// computed from the graph that it is asked for; which of two graphs, the seed says. Queues may be
/// used from several threads.
std::shared_ptr<Device> rehearsal_device(uint64_t seed);

}  // namespace shardproof
