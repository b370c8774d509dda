#pragma once
// Ranks as processes of MPI.
#include <functional>
#include <memory>

#include "impl/comm/communicator.h"

namespace shardproof {

/// This process's end of MPI_COMM_WORLD; MPI is initialized, for threads that take turns where
/// several use it (MPI_THREAD_SERIALIZED: plans with overlap need it). Collective: every process
/// makes it. Sums are MPI's own, in an order it chooses, or with `deterministic` in the order of
/// the group: the same bits as between threads. bf16 is always summed in that order, in f32. At
/// most 2^31 - 1 entries (or bytes) a call.
std::unique_ptr<Communicator> mpi_communicator(bool deterministic = false);

/// A main program: initializes MPI, runs `body` and finalizes. Returns 0; a rank that throws prints
/// `rank 3: <what>` to stderr and ends all ranks with an exit code other than 0, and so does a rank
/// whose body has ended while others wait for it to compare a call. In a call that is not compared
/// they wait inside MPI, which reports nothing: plans compare the first of each run.
int run_on_mpi(int argc, char** argv, const std::function<void(Communicator&)>& body,
               bool deterministic = false);

}  // namespace shardproof
