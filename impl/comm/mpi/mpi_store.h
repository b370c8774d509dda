#pragma once
// A rendezvous store for processes of MPI, for NCCL under mpirun.
#include "impl/comm/store/store.h"

namespace shardproof {

/// Collective over MPI_COMM_WORLD, which must be initialized. Rank 0 serves the store at a free
/// port, which MPI broadcasts.
std::unique_ptr<Store> mpi_store(Milliseconds timeout);

}  // namespace shardproof
