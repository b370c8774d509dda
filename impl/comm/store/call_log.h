#pragma once
// Counts the collectives that a rank has started: a rank that is ahead of one that exited would
// hang.
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "impl/comm/call.h"

namespace shardproof {

/// Number of calls of one rank, by group.
using CallCounts = std::map<std::vector<int>, uint64_t>;
std::string text(const CallCounts& counts);
CallCounts read_call_counts(const std::string& text);

/// The calls that one rank has started. Thread-safe.
class CallLog {
 public:
  using PlacedCallPtr = std::shared_ptr<const PlacedCall>;
  using Recording = std::vector<std::pair<std::vector<int>, PlacedCallPtr>>;

  void begin(const std::vector<int>& ranks, const Call& call, const std::string& place);
  /// The calls that `work` starts.
  template <class Work>
  Recording recorded(const Work& work);
  /// Counts these calls once more.
  void repeat(const Recording& recording);

  CallCounts counts() const;
  /// `rank 1 has ended; rank 0 waits for rank 1 in ..`: a call that `own` has started and `left`
  /// had not when it exited with these counts. Empty if there is none.
  std::string missed(int own, int left, const CallCounts& of_left) const;

 private:
  /// The number of last calls kept per group; larger than a host's lead over its GPU.
  static constexpr size_t most_kept = 1024;
  struct Calls {
    uint64_t count = 0;
    std::deque<PlacedCallPtr> last;
  };

  void add(const std::vector<int>& ranks, PlacedCallPtr call);

  mutable std::mutex mutex_;
  std::map<std::vector<int>, Calls> calls_;
  Recording* recording_ = nullptr;
};

template <class Work>
CallLog::Recording CallLog::recorded(const Work& work) {
  Recording recording;
  const auto into = [&](Recording* to) {
    const std::lock_guard lock(mutex_);
    recording_ = to;
  };
  into(&recording);
  try {
    work();
  } catch (...) {
    into(nullptr);
    throw;
  }
  into(nullptr);
  return recording;
}

}  // namespace shardproof
