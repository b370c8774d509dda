#pragma once
// Turns MPI error codes into exceptions.
#include <mpi.h>

#include "impl/comm/communicator.h"

namespace shardproof {

/// Unless `code` is success, throws CommError with rank, the call and MPI's message.
inline void require_mpi(int code, int rank, const std::string& what) {
  if (code == MPI_SUCCESS) return;
  char message[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, message, &length);
  throw CommError(rank, "rank " + std::to_string(rank) + ": " + what + ": " + message);
}

}  // namespace shardproof
