#include "impl/comm/mpi/mpi_store.h"

#include <unistd.h>

#include <cstring>

#include "impl/comm/mpi/error.h"

namespace shardproof {
namespace {

/// The address of rank 0, and a name that is unique for this run at its port.
struct Place {
  char host[256] = {}, run[64] = {};
  int port = 0;
};

std::string address_of(const Place& place) {
  char own[sizeof place.host] = {};
  gethostname(own, sizeof own - 1);
  const bool same = std::strcmp(own, place.host) == 0;
  return (same ? "127.0.0.1:" : place.host + std::string(":")) + std::to_string(place.port);
}

}  // namespace

std::unique_ptr<Store> mpi_store(Milliseconds timeout) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Place place;
  std::unique_ptr<Store> store;
  if (rank == 0) {
    gethostname(place.host, sizeof place.host - 1);
    const std::string run =
        "mpi " + std::to_string(getpid()) + " " +
        std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
    std::strncpy(place.run, run.c_str(), sizeof place.run - 1);
    store = serve_store(run, place.port);
  }
  require_mpi(MPI_Bcast(&place, sizeof place, MPI_BYTE, 0, MPI_COMM_WORLD), rank, "MPI_Bcast");
  return store ? std::move(store) : tcp_store(address_of(place), place.run, rank, timeout);
}

}  // namespace shardproof
