#pragma once
// Members that are processes compare their calls through a store.
#include <functional>
#include <set>

#include "impl/comm/call.h"
#include "impl/comm/communicator.h"
#include "impl/comm/store/store.h"

namespace shardproof {

/// Of one group, one member's end.
class CallComparison {
 public:
  /// Throws CommError, on all members, where they do not mean the same, and where one of them does
  /// not come within the timeout. A call that was compared before is not compared again; of a
  /// permute the positions do not count for that. `require_alive` is asked while one waits.
  void compare(Store& store, const Group& group, const Call& call, const std::string& place,
               Milliseconds timeout, const std::function<void()>& require_alive);

 private:
  std::set<std::string> known_;
  int compared_ = 0;
};

}  // namespace shardproof
