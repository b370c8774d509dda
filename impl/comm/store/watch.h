#pragma once
// The ranks of a run watch each other through a store, so that one that fails or dies ends all.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "impl/comm/store/call_log.h"
#include "impl/comm/store/store.h"

namespace shardproof {

/// Looks at the store every now and then, on a thread of its own: at what a rank has said when it
/// failed, whether the next rank still moves, and whether a rank that has left is still awaited.
class Watch {
 public:
  /// What this rank finds wrong itself, asked on the watching thread; empty: nothing.
  using Look = std::function<std::string()>;
  /// Called once, on any thread, with the first fault of all.
  using Stop = std::function<void()>;

  /// `calls` are this rank's, where they are counted.
  Watch(Store& store, int rank, int world, Milliseconds silence, Look look, Stop stop,
        const CallLog* calls = nullptr);
  /// Says that this rank has left, in good order unless there is a fault; rank 0 goes when the
  /// others know.
  ~Watch();

  /// Tells all ranks.
  void fail(const std::string& reason) noexcept;
  /// Throws the fault.
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
  /// The first fault of all counts.
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
  std::string heard_;  ///< the next rank's last beat
  Clock::time_point heard_at_, beat_at_;
  std::string last_left_;           ///< who left last, as far as was heard
  std::map<int, CallCounts> left_;  ///< by rank, those that have left
  std::thread thread_;
};

}  // namespace shardproof
