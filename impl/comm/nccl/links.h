#pragma once
// The NCCL communicators of one rank, and all calls of NCCL: none of them blocks, and another
// thread can abort all of them.
#include <nccl.h>

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "impl/comm/store/store.h"

namespace shardproof {

class NcclLinks {
 public:
  /// `require_alive` is called while waiting.
  NcclLinks(int rank, Milliseconds timeout, std::function<void()> require_alive)
      : rank_(rank), timeout_(timeout), require_alive_(std::move(require_alive)) {}
  /// Destroys the communicators in order, unless they were aborted.
  ~NcclLinks();

  /// A new communicator of `size` ranks with this one at `position`; collective over them.
  ncclComm_t make(int size, const ncclUniqueId& id, int position, const std::string& what);
  /// A part of `parent`; collective over it. Null: this rank is in no part.
  ncclComm_t split(ncclComm_t parent, int colour, int key, const std::string& what);
  /// give() returns NCCL's result. Returns when NCCL has accepted the call.
  void call(ncclComm_t comm, const std::function<ncclResult_t()>& give,
            const std::function<std::string()>& what);

  /// An asynchronous error of NCCL; empty if there is none.
  std::string fault();
  /// Ends all calls in progress, from any thread; later calls are refused.
  void abort() noexcept;

 private:
  ncclComm_t added(ncclResult_t result, ncclComm_t* comm, const std::string& what);
  /// Returns when NCCL has accepted the call.
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
