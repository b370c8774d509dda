#pragma once
// Compares the calls of processes through a store.
#include <functional>
#include <set>

#include "impl/comm/call.h"
#include "impl/comm/communicator.h"
#include "impl/comm/store/store.h"

namespace shardproof {

/// One member's endpoint in one group.
class CallComparison {
 public:
  /// Throws CommError on all members if their calls differ, or if one does not arrive within the
  /// timeout. Each distinct call is compared once; positions of a permute do not make it distinct.
  /// `require_alive` is called while waiting.
  void compare(Store& store, const Group& group, const Call& call, const std::string& place,
               Milliseconds timeout, const std::function<void()>& require_alive);

 private:
  std::set<std::string> known_;
  int compared_ = 0;
};

}  // namespace shardproof
