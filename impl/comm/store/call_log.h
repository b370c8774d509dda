#pragma once
// How many collectives a rank has begun: who has begun more than a rank that has left waits in
// vain.
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "impl/comm/call.h"

namespace shardproof {

/// By group, the calls of one rank.
using CallCounts = std::map<std::vector<int>, uint64_t>;
std::string text(const CallCounts& counts);
CallCounts read_call_counts(const std::string& text);

/// The calls that one rank has begun so far; any thread may ask.
class CallLog {
 public:
  using PlacedCallPtr = std::shared_ptr<const PlacedCall>;
  using Recording = std::vector<std::pair<std::vector<int>, PlacedCallPtr>>;

  void begin(const std::vector<int>& ranks, const Call& call, const std::string& place);
  /// What `work` begins.
  template <class Work>
  Recording recorded(const Work& work);
  /// The same calls are begun again.
  void repeat(const Recording& recording);

  CallCounts counts() const;
  /// `rank 1 has ended; rank 0 waits for rank 1 in ..`: what `own` has begun and `left` has not,
  /// before it left with these counts; empty: nothing.
  std::string missed(int own, int left, const CallCounts& of_left) const;

 private:
  /// The last of a group's calls. More than a host runs ahead of its GPU.
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
