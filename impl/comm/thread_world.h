#pragma once
// What the ranks of one process share: groups with a slot per member, which rank waits for which,
// and the first fault.
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "impl/comm/call.h"
#include "impl/comm/communicator.h"
#include "impl/comm/gate.h"

namespace shardproof {

class Event;  // impl/device/device.h

/// Up to this many bytes are sent by a copy: the sender does not wait until the others have read.
constexpr size_t copied_bytes = 2048;

/// What a member announces of one call.
struct ThreadPost {
  PlacedCall call;
  const void* send = nullptr;
  void* receive = nullptr;
  /// Of a device: when `send` is ready, when this member's part is reduced in `receive`, and when
  /// it has read all that it reads of the others. The last two are there after an `exit`.
  std::shared_ptr<Event> ready, reduced, done;
  alignas(64) std::byte copied[copied_bytes];
};

/// A member's posts of its last two calls. It writes one before it passes `entry`, and the others
/// read it until they come to `entry` again: so that after that it may be written anew.
struct alignas(64) ThreadSlot {
  ThreadPost posts[2];
  std::atomic<uint32_t> calls{0};  ///< announced by this member so far

  ThreadPost& post(uint32_t call) { return posts[call % 2]; }
};

/// Only `entry` is ever shut: who has passed it may read the others' buffers where they were not
/// copied, and they wait at `exit`, which every rank can reach.
struct ThreadMembers {
  explicit ThreadMembers(const std::vector<int>& of)
      : ranks(of), slots(of.size()), entry(int(of.size())), exit(int(of.size())) {}

  const std::vector<int> ranks;
  std::vector<ThreadSlot> slots;
  Gate entry, exit;
};

/// Outlives the threads.
class ThreadWorld {
 public:
  explicit ThreadWorld(int size) : waits_(size) {}

  int size() const { return static_cast<int>(waits_.size()); }
  /// The same object for the same list, on every rank.
  ThreadMembers& members(const std::vector<int>& ranks);

  /// `rank` is going to sleep until its `call`-th call in `members` can begin: a fault where that
  /// can never be, because one of those it waits for has ended or waits for it in turn.
  void waits(int rank, ThreadMembers& members, uint32_t call);
  void ends(int rank);

  /// Ends all waiting. The first fault counts.
  void fail(int rank, const std::string& what);
  std::optional<CommError> fault();
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  /// Stale once the call has begun: then no rank is missing in it.
  struct Wait {
    ThreadMembers* members = nullptr;
    uint32_t call = 0;
    bool ended = false;
  };

  static bool missing(const Wait& wait, size_t position);
  void look_for_end(int rank);
  bool look_for_circle(int rank, std::vector<int>& path, std::vector<bool>& seen);
  std::string circle(const std::vector<int>& path) const;
  std::string hop(int rank, int awaited) const;
  void fail_locked(int rank, const std::string& what);

  std::mutex mutex_;
  std::map<std::vector<int>, std::unique_ptr<ThreadMembers>> members_;
  std::vector<Wait> waits_;  ///< by rank
  std::optional<CommError> fault_;
  std::atomic<bool> failed_{false};
};

}  // namespace shardproof
