#pragma once
// What MPI returns, as exceptions.
#include <mpi.h>

#include "impl/comm/communicator.h"

namespace shardproof {

/// Throws CommError with rank, what was called and MPI's own message, unless `code` is a success.
inline void require_mpi(int code, int rank, const std::string& what) {
  if (code == MPI_SUCCESS) return;
  char message[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, message, &length);
  throw CommError(rank, "rank " + std::to_string(rank) + ": " + what + ": " + message);
}

}  // namespace shardproof
