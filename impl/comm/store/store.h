#pragma once
// Where ranks that are processes find each other: keys with values that all of them see.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "impl/comm/communicator.h"

namespace shardproof {

using Milliseconds = std::chrono::milliseconds;

/// No rank has set the value.
class StoreTimeout : public CommError {
 public:
  using CommError::CommError;
};

/// One rank's end; calls may come from any of its threads. Throws CommError where the others cannot
/// be reached any more.
class Store {
 public:
  virtual ~Store() = default;
  /// The last value counts.
  virtual void set(const std::string& key, const std::string& bytes) = 0;
  /// Sets it unless there is a value; false: there was one.
  virtual bool add(const std::string& key, const std::string& bytes) = 0;
  virtual std::optional<std::string> find(const std::string& key) = 0;
  /// Waits until a rank has set it; throws StoreTimeout. `meanwhile` is called between looks.
  std::string get(
      const std::string& key, Milliseconds timeout, const std::function<void()>& meanwhile = [] {});
};

/// Returns when all ranks of the world have come; throws CommError, on each rank that has come,
/// with those that are missing after `timeout`, or whose numbers do not fit together.
void meet(Store& store, int rank, int world, Milliseconds timeout);

/// For ranks that are threads: all of them use this one.
std::unique_ptr<Store> local_store();

/// Files in a folder that all ranks see. `run` is a name that all ranks of this run are given, and
/// no earlier run had: what an earlier run left is not looked at. Files stay; the folder may be
/// removed when no run uses it.
std::unique_ptr<Store> file_store(const std::string& folder, const std::string& run);

/// Rank 0 listens at the port, and its store lives as long as its object; the others connect within
/// the timeout, also before rank 0 is there. `address` is `host:port` or `[::1]:port`, of rank 0's
/// machine; only a loopback name keeps other machines out. Whoever reaches the port and knows the
/// run's name is believed.
std::unique_ptr<Store> tcp_store(const std::string& address, const std::string& run, int rank,
                                 Milliseconds timeout);

/// Rank 0's end of a tcp_store at a port that is free, on all of this machine's interfaces.
std::unique_ptr<Store> serve_store(const std::string& run, int& port);

}  // namespace shardproof
