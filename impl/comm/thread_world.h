#pragma once
// The state that the ranks of a process share: groups with one slot per member, the waits-for
// graph, and the first error.
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

/// Up to this many bytes are sent by copy, so that the sender need not wait for the readers.
constexpr size_t copied_bytes = 2048;

/// A member's announcement of one call.
struct ThreadPost {
  ThreadPost() {}  // `copied` needs no initial value
  PlacedCall call;
  const void* send = nullptr;
  void* receive = nullptr;
  /// For a device: events for `send` being ready, for this member's share in `receive` being
  /// reduced, and for the end of its reads from others. The last two are set after an `exit`.
  std::shared_ptr<Event> ready, reduced, done;
  alignas(64) std::byte copied[copied_bytes];
};

/// A member's posts for its last two calls. It writes one before `entry`; the others read it until
/// they reach the next `entry`. So it may be overwritten after that.
struct alignas(64) ThreadSlot {
  ThreadSlot() {}  // nor do these
  ThreadPost posts[2];
  std::atomic<uint32_t> calls{0};  ///< number of calls announced by this member

  ThreadPost& post(uint32_t call) { return posts[call % 2]; }
};

/// Only `entry` can be shut: a member that passed it may read others' buffers, and the owners wait
/// at `exit`, which every rank can reach.
struct ThreadMembers {
  explicit ThreadMembers(const std::vector<int>& of)
      : ranks(of), slots(of.size()), entry(int(of.size())), exit(int(of.size())) {}

  const std::vector<int> ranks;
  std::vector<ThreadSlot> slots;
  Gate entry, exit;
};

/// Must outlive the threads.
class ThreadWorld {
 public:
  explicit ThreadWorld(int size) : waits_(size) {}

  int size() const { return static_cast<int>(waits_.size()); }
  /// The same object on every rank for the same list.
  ThreadMembers& members(const std::vector<int>& ranks);

  /// `rank` is about to sleep until its `call`-th call in `members` starts. Raises an error if that
  /// is impossible: a rank that it waits for has ended, or waits for it in turn.
  void waits(int rank, ThreadMembers& members, uint32_t call);
  void ends(int rank);

  /// Ends all waits. The first error counts.
  void fail(int rank, const std::string& what);
  std::optional<CommError> fault();
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  /// Outdated once the call has started: then no rank is missing.
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
