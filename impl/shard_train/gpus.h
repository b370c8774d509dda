#pragma once
// Devices of a run, and processes with a GPU each.
#include "impl/shard_train/job.h"

namespace shardproof::shard_train {

/// The device that --device names, null for this processor. Throws BadInput where it is not there,
/// with what is missing.
std::shared_ptr<Device> device_of(const Options& options);

/// This process among the ranks of a launcher: torchrun, srun or mpirun, by their variables.
struct Seat {
  int rank = 0, world = 1;
  int local = 0;  ///< among the ranks of this machine: which GPU
};
/// Nothing where no launcher says so.
std::optional<Seat> seat_of(const std::function<const char*(const char*)>& variable);

/// One rank of a job whose processes find each other by --store. Throws BadInput, CommError.
void run_on_gpus(const Options& options,
                 const std::function<void(const Job&, Communicator&)>& body);

}  // namespace shardproof::shard_train
