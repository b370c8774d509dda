#pragma once
// Ranks as processes with a GPU each, by NCCL.
#include <functional>
#include <memory>

#include "impl/comm/communicator.h"
#include "impl/comm/store/store.h"
#include "impl/device/cuda/cuda_device.h"

namespace shardproof {

/// A device that is a GPU: the properties that NCCL needs.
struct NcclDevice {
  Device& device;
  int ordinal = 0;  ///< CUDA's device number in this process
  std::function<CUstream_st*(Queue&)> stream_of = [](Queue& queue) {
    return static_cast<CudaQueue&>(queue).stream();
  };
};

struct NcclOptions {
  Milliseconds timeout{120'000};  ///< to meet, to compare a call, and to create a group
  Milliseconds silence{30'000};   ///< a rank that does not respond for this long is dead
  bool deterministic = false;     ///< sum floats in the order of the group: slower
  size_t slice = 4 << 20;         ///< bytes per member gathered at once for a sum
  bool alone = false;             ///< use NCCL for groups of one rank too, for tests
};

/// One rank's communicator; every rank of a store creates one. Returns when all have joined. Throws
/// CommError if there is no GPU, or a rank is missing. Buffers are on the GPU, and use() must have
/// set a stream. Later errors of NCCL end the collectives of all ranks; require_alive() and every
/// later call throw them. Float sums are NCCL's, bf16 in bf16 precision, unless `deterministic`. A
/// call is compared with the other members' through the store the first time it is made; permutes
/// without their positions.
std::unique_ptr<Communicator> nccl_communicator(Store& store, int rank, int world,
                                                NcclDevice device, const NcclOptions& options = {});

/// Runs `body` on this rank. An exception ends the other ranks with its text, and is rethrown.
void run_on_nccl(Store& store, int rank, int world, NcclDevice device,
                 const std::function<void(Communicator&)>& body, const NcclOptions& options = {});

}  // namespace shardproof
