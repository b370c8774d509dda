#pragma once
// Compares through a store what processes are about to do.
#include <functional>
#include <set>

#include "impl/comm/communicator.h"
#include "impl/comm/store/store.h"

namespace shardproof {

/// The part of one rank.
class StoreAgreement {
 public:
  StoreAgreement(Store& store, int rank, int world) : store_(store), rank_(rank), world_(world) {}

  /// Throws CommError on all ranks if a rank passes another text, or none within the timeout. A
  /// text is compared once: later calls with the same text return at once. Calls `require_alive`
  /// while it waits.
  void agree(const std::string& what, Milliseconds timeout,
             const std::function<void()>& require_alive);

 private:
  Store& store_;
  const int rank_, world_;
  std::set<std::string> agreed_;
};

}  // namespace shardproof
