#pragma once
// Where processes of MPI find each other for another library: NCCL under mpirun.
#include "impl/comm/store/store.h"

namespace shardproof {

/// Collective over MPI_COMM_WORLD; MPI is initialized. Rank 0 serves the store at a port that is
/// free, and MPI tells the others where.
std::unique_ptr<Store> mpi_store(Milliseconds timeout);

}  // namespace shardproof
