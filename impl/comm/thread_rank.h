#pragma once
// A rank that is a thread: finds its groups, and agrees with the other members on each call.
#include <functional>

#include "impl/comm/thread_world.h"

namespace shardproof {

/// One member's view of a group.
class ThreadGroup : public Group {
 public:
  ThreadGroup(ThreadMembers& members, int position)
      : Group(members.ranks, position), members_(members) {}

  ThreadMembers& members() { return members_; }
  uint32_t calls() const { return calls_; }  ///< number of calls started by this member
  /// The post of a member in the current call.
  ThreadPost& post(size_t position) { return members_.slots[position].post(calls_); }
  ThreadPost& own_post() { return post(position()); }
  const std::byte* sent(int position, size_t from) {
    return static_cast<const std::byte*>(post(position).send) + from;
  }

  /// Starts the next call; fills its post, except the buffers.
  ThreadPost& begin(const Call& call, const std::string& place);
  /// Publishes the current post to the other members.
  void announce() { members_.slots[position()].calls.store(calls_, std::memory_order_release); }
  void pass_exit() { members_.exit.pass(++exits_); }

 private:
  ThreadMembers& members_;
  uint32_t calls_ = 0, exits_ = 0;
};

/// Everything but moving the data.
class ThreadRank : public Communicator {
 public:
  ThreadRank(ThreadWorld& world, int rank) : world_(world), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return world_.size(); }
  bool in_one_process() const override { return true; }
  Group& group(const std::vector<int>& ranks) override;
  void require_alive() override {
    if (world_.failed()) throw_fault();
  }
  void abort(const std::string& reason) noexcept override { fail(reason); }
  /// Ends all waits with an error in this rank's name.
  void fail(const std::string& reason) noexcept;

 protected:
  /// For the memory's location: copies bytes, and reduces the members' entries in group order.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void join(const Call& call, const std::vector<const void*>& sources, void* out,
                    size_t count) = 0;

  /// Moves this member's results of the call from the other members.
  void receive_all(ThreadGroup& group, const Call& call, void* receive);
  /// For an all_reduce with divided work: reduces the own share, then copies those of the others.
  void reduce_own_part(ThreadGroup& group, const Call& call, void* receive);
  void copy_other_parts(ThreadGroup& group, const Call& call, void* receive);
  static bool is_shared(const Call& call, int size);

  /// Call after announce(): returns when all members have announced the same call. Their buffers
  /// stay valid until they pass `exit`.
  void agree(ThreadGroup& group);

 private:
  [[noreturn]] void throw_fault() { throw *world_.fault(); }
  /// receive[offset, count) = all members' entries [begin, begin + count).
  void reduce(ThreadGroup& group, const Call& call, void* receive, size_t begin, size_t count,
              size_t offset);

  ThreadWorld& world_;
  int rank_;
  const std::thread::id thread_ = std::this_thread::get_id();  ///< the rank's, which computes
  std::vector<const void*> sources_;
  std::map<std::vector<int>, std::unique_ptr<ThreadGroup>> groups_;
};

/// Runs `body` on ranks created by `make`; see threads.h.
void run_ranks(int world,
               const std::function<std::unique_ptr<ThreadRank>(ThreadWorld&, int rank)>& make,
               const std::function<void(Communicator&)>& body);

}  // namespace shardproof
