#pragma once
// The ranks of a run watch each other through a store, so that one that fails or dies ends all.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "impl/comm/store/store.h"

namespace shardproof {

/// Looks at the store every now and then, on a thread of its own: at what a rank has said when it
/// failed, and whether the next rank still moves.
class Watch {
 public:
  /// What this rank finds wrong itself, asked on the watching thread; empty: nothing.
  using Look = std::function<std::string()>;
  /// Called once, on any thread, with the first fault of all.
  using Stop = std::function<void()>;

  Watch(Store& store, int rank, int world, Milliseconds silence, Look look, Stop stop);
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
  void wait_for_others(const std::function<std::string(int)>& word, Milliseconds longest);
  void take(int rank, const std::string& what) noexcept;

  Store& store_;
  const int rank_, world_;
  const Milliseconds silence_;
  const Look look_own_;
  const Stop stop_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool over_ = false;
  std::optional<CommError> fault_;
  std::atomic<bool> failed_{false};
  int beats_ = 0;
  std::string heard_;  ///< the next rank's last beat
  Clock::time_point heard_at_, beat_at_;
  std::thread thread_;
};

}  // namespace shardproof
