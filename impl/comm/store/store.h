#pragma once
// The rendezvous of ranks that are processes: a key-value store that all of them share.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "impl/comm/communicator.h"

namespace shardproof {

using Milliseconds = std::chrono::milliseconds;

/// No rank set the value in time.
class StoreTimeout : public CommError {
 public:
  using CommError::CommError;
};

/// One rank's connection; thread-safe. Throws CommError if the other ranks are
/// unreachable.
class Store {
 public:
  virtual ~Store() = default;
  /// The last value wins.
  virtual void set(const std::string& key, const std::string& bytes) = 0;
  /// Sets it if there is no value yet; false if there is.
  virtual bool add(const std::string& key, const std::string& bytes) = 0;
  virtual std::optional<std::string> find(const std::string& key) = 0;
  /// Waits until a rank has set it; throws StoreTimeout. Calls `meanwhile` between polls.
  std::string get(
      const std::string& key, Milliseconds timeout, const std::function<void()>& meanwhile = [] {});
};

/// Returns when all ranks have joined. Throws CommError on each rank that has joined, with the
/// ranks that are missing after `timeout` or whose numbers are inconsistent.
void meet(Store& store, int rank, int world, Milliseconds timeout);

/// For ranks that are threads: all share one object.
std::unique_ptr<Store> local_store();

/// Files in a folder that all ranks can access. `run` must be unique for this run: files of
/// earlier runs are ignored. Files are not removed; the folder may be removed after the
/// run.
std::unique_ptr<Store> file_store(const std::string& folder, const std::string& run);

/// Rank 0 listens at the port while its object exists; the others connect within the timeout, also
/// before rank 0 is up. `address` is `host:port` or `[::1]:port` of rank 0's machine, which listens
/// there alone. The run's name is the token: a process must know it to connect, and the server
/// never sends it.
std::unique_ptr<Store> tcp_store(const std::string& address, const std::string& run, int rank,
                                 Milliseconds timeout);

/// Rank 0's side of a tcp_store at a free port, on all interfaces.
std::unique_ptr<Store> serve_store(const std::string& run, int& port);

}  // namespace shardproof
