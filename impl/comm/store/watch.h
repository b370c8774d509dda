#pragma once
// The ranks of a run watch each other through a store: if one fails or dies, all end.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "impl/comm/store/call_log.h"
#include "impl/comm/store/store.h"

namespace shardproof {

/// Polls the store in a thread for errors of other ranks, for the heartbeat of the next rank, and
/// for ranks that have left but are still needed.
class Watch {
 public:
  /// An error of this rank, checked on the watching thread; empty if there is none.
  using Look = std::function<std::string()>;
  /// Called once, on any thread, with the first error of any rank.
  using Stop = std::function<void()>;

  /// `calls`: the call log of this rank, if calls are counted.
  Watch(Store& store, int rank, int world, Milliseconds silence, Look look, Stop stop,
        const CallLog* calls = nullptr);
  /// Reports that this rank has left, cleanly unless there was an error. Rank 0 waits until the
  /// others know.
  ~Watch();

  /// Reports an error to all ranks.
  void fail(const std::string& reason) noexcept;
  /// Throws the error, if there is one.
  void require_alive();
  bool failed() const { return failed_; }

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  void look();
  void beat();
  void listen_to_next();
  void hear_who_left();
  void look_for_missed();
  void say_left();
  /// Records the first error; later ones are ignored.
  void tell(int rank, const std::string& what);
  void wait_for_others();
  void take(int rank, const std::string& what) noexcept;

  Store& store_;
  const int rank_, world_;
  const Milliseconds silence_;
  const Look look_own_;
  const Stop stop_;
  const CallLog* const calls_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool over_ = false;
  std::optional<CommError> fault_;
  std::atomic<bool> failed_{false};
  int beats_ = 0;
  std::string heard_;  ///< the next rank's last heartbeat
  Clock::time_point heard_at_, beat_at_;
  std::string last_left_;           ///< the last value of "last left"
  std::map<int, CallCounts> left_;  ///< call counts of ranks that have left
  std::thread thread_;
};

}  // namespace shardproof
