#pragma once
// Processes that share a store agree on what they do next.
#include <functional>
#include <set>

#include "impl/comm/communicator.h"
#include "impl/comm/store/store.h"

namespace shardproof {

/// One rank's end.
class StoreAgreement {
 public:
  StoreAgreement(Store& store, int rank, int world) : store_(store), rank_(rank), world_(world) {}

  /// Throws CommError on all ranks if one of them says something else, or does not come within the
  /// timeout. A text that they have agreed on before is not compared again. `require_alive` is
  /// called while the rank waits.
  void agree(const std::string& what, Milliseconds timeout,
             const std::function<void()>& require_alive);

 private:
  Store& store_;
  const int rank_, world_;
  std::set<std::string> agreed_;
};

}  // namespace shardproof
