#pragma once
// The communicators of NCCL that one rank has, and every call of NCCL: none of them blocks, and all
// can be ended from another thread.
#include <nccl.h>

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "impl/comm/store/store.h"

namespace shardproof {

class NcclLinks {
 public:
  /// `require_alive` is asked while one waits.
  NcclLinks(int rank, Milliseconds timeout, std::function<void()> require_alive)
      : rank_(rank), timeout_(timeout), require_alive_(std::move(require_alive)) {}
  /// Ends them in good order, unless they were aborted.
  ~NcclLinks();

  /// A new communicator of `size` ranks, this one at `position`; collective over them.
  ncclComm_t make(int size, const ncclUniqueId& id, int position, const std::string& what);
  /// A part of `parent`; collective over it. Null: this rank is in no part.
  ncclComm_t split(ncclComm_t parent, int colour, int key, const std::string& what);
  /// give() returns what NCCL returned; the call has been taken when this returns.
  void call(ncclComm_t comm, const std::function<ncclResult_t()>& give,
            const std::function<std::string()>& what);

  /// What NCCL found wrong by itself; empty: nothing.
  std::string fault();
  /// Ends all that is under way, on any thread; what comes later is refused.
  void abort() noexcept;

 private:
  ncclComm_t added(ncclResult_t result, ncclComm_t* comm, const std::string& what);
  /// Returns when NCCL has taken what it was given.
  void settle(ncclComm_t comm, ncclResult_t result, const std::string& what);
  ncclResult_t state(ncclComm_t comm);
  [[noreturn]] void fail(ncclComm_t comm, ncclResult_t result, const std::string& what);

  const int rank_;
  const Milliseconds timeout_;
  const std::function<void()> require_alive_;
  std::mutex mutex_;
  bool aborted_ = false;
  std::vector<ncclComm_t> comms_;
};

}  // namespace shardproof
