#pragma once
// Ranks as processes of MPI.
#include <functional>
#include <memory>

#include "impl/comm/communicator.h"

namespace shardproof {

/// This process's communicator on MPI_COMM_WORLD. MPI must be initialized, with
/// MPI_THREAD_SERIALIZED if several threads use it (plans with overlap do). Collective over all
/// processes. Sums are MPI's, in an unspecified order; with `deterministic` in the order of the
/// group, with the same bits as between threads. bf16 is always summed in that order, in f32. At
/// most 2^31 - 1 entries (or bytes) per call.
std::unique_ptr<Communicator> mpi_communicator(bool deterministic = false);

/// A main program: initializes MPI, runs `body` and finalizes. Returns 0. A rank that throws prints
/// `rank 3: <what>` to stderr and ends all ranks with a nonzero exit code. So does a rank that ends
/// while others wait for it to compare a call. In a call that is not compared, they hang inside
/// MPI: plans compare the first call of each run.
int run_on_mpi(int argc, char** argv, const std::function<void(Communicator&)>& body,
               bool deterministic = false);

}  // namespace shardproof
