#include "impl/comm/nccl/links.h"

#include <thread>

#include "impl/comm/call.h"

namespace shardproof {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int busy_tries = 1000;  ///< tries before a waiting rank sleeps between tries
constexpr auto nap = std::chrono::microseconds(100);

ncclConfig_t config_without_blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

std::string reason_of(ncclComm_t comm, ncclResult_t result) {
  const char* more = ncclGetLastError(comm);
  const std::string reason = ncclGetErrorString(result);
  return more && *more ? reason + ": " + more : reason;
}

}  // namespace

NcclLinks::~NcclLinks() {
  const std::lock_guard lock(mutex_);
  if (aborted_) return;
  const auto end = Clock::now() + timeout_;
  for (ncclComm_t comm : comms_) {
    ncclResult_t result = ncclCommFinalize(comm);
    while (result == ncclInProgress && Clock::now() < end) {
      std::this_thread::sleep_for(nap);
      if (ncclCommGetAsyncError(comm, &result) != ncclSuccess) break;
    }
    result == ncclSuccess ? ncclCommDestroy(comm) : ncclCommAbort(comm);
  }
}

ncclComm_t NcclLinks::make(int size, const ncclUniqueId& id, int position,
                           const std::string& what) {
  ncclConfig_t config = config_without_blocking();
  ncclComm_t comm = nullptr;
  const ncclResult_t result = ncclCommInitRankConfig(&comm, size, id, position, &config);
  return added(result, &comm, what);
}

ncclComm_t NcclLinks::split(ncclComm_t parent, int colour, int key, const std::string& what) {
  ncclConfig_t config = config_without_blocking();
  ncclComm_t comm = nullptr;
  call(
      parent, [&] { return ncclCommSplit(parent, colour, key, &comm, &config); },
      [&] { return what; });
  return comm ? added(ncclInProgress, &comm, what) : nullptr;
}

/// Records it before it is ready, so that it can be aborted.
ncclComm_t NcclLinks::added(ncclResult_t result, ncclComm_t* comm, const std::string& what) {
  if (*comm) {
    const std::lock_guard lock(mutex_);
    comms_.push_back(*comm);
  }
  settle(*comm, result, what);
  return *comm;
}

void NcclLinks::call(ncclComm_t comm, const std::function<ncclResult_t()>& give,
                     const std::function<std::string()>& what) {
  require_alive_();
  ncclResult_t result;
  {
    const std::lock_guard lock(mutex_);
    result = aborted_ ? ncclInvalidUsage : give();
  }
  if (result != ncclSuccess) settle(comm, result, what());
}

void NcclLinks::settle(ncclComm_t comm, ncclResult_t result, const std::string& what) {
  const auto end = Clock::now() + timeout_;
  for (int tries = 0; result == ncclInProgress; ++tries) {
    require_alive_();
    if (Clock::now() >= end)
      throw CommError(rank_, said_by(rank_, what + ": NCCL did not finish within " +
                                                std::to_string(timeout_.count()) + " ms"));
    tries < busy_tries ? std::this_thread::yield() : std::this_thread::sleep_for(nap);
    result = state(comm);
  }
  if (result != ncclSuccess) fail(comm, result, what);
}

ncclResult_t NcclLinks::state(ncclComm_t comm) {
  const std::lock_guard lock(mutex_);
  ncclResult_t state = ncclInvalidUsage;
  if (aborted_) return state;
  const ncclResult_t asked = ncclCommGetAsyncError(comm, &state);
  return asked == ncclSuccess ? state : asked;
}

void NcclLinks::fail(ncclComm_t comm, ncclResult_t result, const std::string& what) {
  require_alive_();  // report another rank's error first
  const std::lock_guard lock(mutex_);
  throw CommError(rank_,
                  said_by(rank_, what + ": " + reason_of(aborted_ ? nullptr : comm, result)));
}

std::string NcclLinks::fault() {
  const std::lock_guard lock(mutex_);
  if (aborted_) return "";
  for (ncclComm_t comm : comms_) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(comm, &state);
    const ncclResult_t wrong = asked != ncclSuccess ? asked : state;
    if (wrong != ncclSuccess && wrong != ncclInProgress)
      return "a collective that was under way: " + reason_of(comm, wrong);
  }
  return "";
}

void NcclLinks::abort() noexcept {
  const std::lock_guard lock(mutex_);
  if (aborted_) return;
  aborted_ = true;
  for (ncclComm_t comm : comms_) ncclCommAbort(comm);
}

}  // namespace shardproof
