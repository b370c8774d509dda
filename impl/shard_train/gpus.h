#pragma once
// The devices of a run, and processes with one GPU each.
#include "impl/shard_train/job.h"

namespace shardproof::shard_train {

/// The device of --device; null for the CPU. Throws BadInput with the reason if it is not
/// available.
std::shared_ptr<Device> device_of(const Options& options);

/// This process among the ranks of a launcher (torchrun, srun or mpirun), from its environment
/// variables.
struct Seat {
  int rank = 0, world = 1;
  int local = 0;  ///< rank on this machine: the GPU to use
};
/// None without a launcher.
std::optional<Seat> seat_of(const std::function<const char*(const char*)>& variable);

/// Runs one rank of a job whose processes meet through --store. Throws BadInput, CommError.
void run_on_gpus(const Options& options,
                 const std::function<void(const Job&, Communicator&)>& body);

}  // namespace shardproof::shard_train
