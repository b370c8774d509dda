#pragma once
// Ranks as processes with a GPU each, by NCCL.
#include <functional>
#include <memory>

#include "impl/comm/communicator.h"
#include "impl/comm/store/store.h"
#include "impl/device/cuda/cuda_device.h"

namespace shardproof {

/// A device that is a GPU: what NCCL needs of it.
struct NcclDevice {
  Device& device;
  int ordinal = 0;  ///< CUDA's number of it in this process
  std::function<CUstream_st*(Queue&)> stream_of = [](Queue& queue) {
    return static_cast<CudaQueue&>(queue).stream();
  };
};

struct NcclOptions {
  Milliseconds timeout{120'000};  ///< of meeting, of comparing a call and of making a group
  Milliseconds silence{30'000};   ///< after which a rank that says nothing is taken for dead
  bool deterministic = false;     ///< floats are summed in the order of the group: slower
  size_t slice = 4 << 20;         ///< bytes of each member that are gathered at once to be summed
  bool alone = false;             ///< groups of one rank use NCCL too, for its tests
};

/// One rank's end, to be made once by every rank of a store; returns when all have come. Throws
/// CommError where there is no GPU, or a rank is missing. Buffers are the GPU's, and use() must
/// have named a queue; what NCCL finds wrong later ends the collectives of all ranks, and
/// require_alive() and every later call throw it. Sums of floats are NCCL's own, bf16 in its
/// precision, unless `deterministic`. A call is compared with the other members' through the store
/// the first time that it is made; permutes without their positions.
std::unique_ptr<Communicator> nccl_communicator(Store& store, int rank, int world,
                                                NcclDevice device, const NcclOptions& options = {});

/// Runs `body` on this rank; what it throws ends the other ranks, with its text, and is thrown on.
void run_on_nccl(Store& store, int rank, int world, NcclDevice device,
                 const std::function<void(Communicator&)>& body, const NcclOptions& options = {});

}  // namespace shardproof
