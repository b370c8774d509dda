#include "impl/comm/threads.h"

#include <algorithm>
#include <system_error>

#include "impl/comm/bytes.h"
#include "impl/comm/thread_world.h"
#include "kernels/cpu/reduce_ranks.h"

namespace shardproof {
namespace {

/// Below so many bytes of all members together each reduces everything itself: that costs less
/// than one more barrier.
constexpr size_t reduce_alone_bytes = 64 << 10;

/// Of a call in a group of `size`.
size_t bytes_sent(const Call& call, int size) {
  const bool scatters =
      call.collective == Collective::reduce_scatter || call.collective == Collective::all_to_all;
  return call.count * size_of(call.element) * (scatters ? size : 1);
}

bool is_copied(const Call& call, int size) { return bytes_sent(call, size) <= copied_bytes; }

class ThreadGroup : public Group {
 public:
  ThreadGroup(ThreadMembers& members, int position)
      : Group(members.ranks, position), members_(members) {}

  ThreadMembers& members() { return members_; }
  uint32_t calls() const { return calls_; }  ///< begun by this member
  /// Of the call that this member is in.
  ThreadPost& post(size_t position) { return members_.slots[position].post(calls_); }
  const std::byte* sent(int position, size_t from) { return at_byte(post(position).send, from); }

  void announce(const Call& call, const void* send, void* receive, const std::string& place);
  void pass_exit() { members_.exit.pass(++exits_); }
  void reduce(const Call& call, void* receive, size_t begin, size_t count, size_t offset);

 private:
  ThreadMembers& members_;
  uint32_t calls_ = 0, exits_ = 0;
  std::vector<const void*> sources_;
};

void ThreadGroup::announce(const Call& call, const void* send, void* receive,
                           const std::string& place) {
  ++calls_;
  ThreadPost& own = post(position());
  own.call.call = call;
  own.call.place = place;
  own.send = send;
  own.receive = receive;
  if (is_copied(call, size())) {
    copy_bytes(own.copied, send, bytes_sent(call, size()));
    own.send = own.copied;
  }
  members_.slots[position()].calls.store(calls_, std::memory_order_release);
}

/// receive[0, count) = all members' entries [begin, begin + count), in the order of the group.
void ThreadGroup::reduce(const Call& call, void* receive, size_t begin, size_t count,
                         size_t offset) {
  if (!count) return;
  const size_t width = size_of(call.element);
  sources_.clear();
  for (int i = 0; i < size(); ++i) sources_.push_back(sent(i, begin * width));
  reduce_ranks(call.element, call.reduction, sources_.data(), size(),
               at_byte(receive, offset * width), count);
}

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(ThreadWorld& world, int rank) : world_(world), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return world_.size(); }
  Group& group(const std::vector<int>& ranks) override;

  void all_gather(Group& group, const void* send, void* receive, size_t bytes,
                  const std::string& place) override {
    exchange(group, Call::move(Collective::all_gather, bytes), send, receive, place,
             [&](ThreadGroup& of) {
               for (int i = 0; i < of.size(); ++i)
                 copy_bytes(at_byte(receive, i * bytes), of.sent(i, 0), bytes);
             });
  }
  void all_reduce(Group& group, const void* send, void* receive, size_t count, Element element,
                  Reduction reduction, const std::string& place) override {
    const Call call{Collective::all_reduce, element, reduction, count};
    exchange(group, call, send, receive, place,
             [&](ThreadGroup& of) { reduce_all(of, call, receive); });
  }
  void reduce_scatter(Group& group, const void* send, void* receive, size_t count, Element element,
                      Reduction reduction, const std::string& place) override {
    const Call call{Collective::reduce_scatter, element, reduction, count};
    exchange(group, call, send, receive, place,
             [&](ThreadGroup& of) { of.reduce(call, receive, of.position() * count, count, 0); });
  }
  void all_to_all(Group& group, const void* send, void* receive, size_t bytes,
                  const std::string& place) override {
    exchange(group, Call::move(Collective::all_to_all, bytes), send, receive, place,
             [&](ThreadGroup& of) {
               for (int i = 0; i < of.size(); ++i)
                 copy_bytes(at_byte(receive, i * bytes), of.sent(i, of.position() * bytes), bytes);
             });
  }
  void permute(Group& group, const void* send, int to, void* receive, int from, size_t bytes,
               const std::string& place) override {
    exchange(group, Call::permute(bytes, to, from, group.size()), send, receive, place,
             [&](ThreadGroup& of) { copy_bytes(receive, of.sent(from, 0), bytes); });
  }

  void abort(const std::string& reason) noexcept override { fail(reason); }
  void fail(const std::string& reason) noexcept {
    const std::string prefix = "rank " + std::to_string(rank_) + ": ";
    world_.fail(rank_, reason.starts_with(prefix) ? reason : prefix + reason);
  }

 private:
  /// Announces the call, waits until all members have, and calls `move` while all buffers are
  /// there.
  template <class Move>
  void exchange(Group& group, const Call& call, const void* send, void* receive,
                const std::string& place, const Move& move);
  void wait_for_all(ThreadGroup& group);
  void reduce_all(ThreadGroup& group, const Call& call, void* receive);
  [[noreturn]] void throw_fault() { throw *world_.fault(); }

  ThreadWorld& world_;
  int rank_;
  std::map<std::vector<int>, std::unique_ptr<ThreadGroup>> groups_;
};

Group& ThreadCommunicator::group(const std::vector<int>& ranks) {
  std::unique_ptr<ThreadGroup>& group = groups_[ranks];
  if (!group) {
    const int position = position_in(ranks, rank_, size());
    group = std::make_unique<ThreadGroup>(world_.members(ranks), position);
  }
  return *group;
}

template <class Move>
void ThreadCommunicator::exchange(Group& group, const Call& call, const void* send, void* receive,
                                  const std::string& place, const Move& move) {
  ThreadGroup& own = static_cast<ThreadGroup&>(group);
  if (world_.failed()) throw_fault();
  own.announce(call, send, receive, place);
  wait_for_all(own);
  move(own);
  if (!is_copied(call, own.size())) own.pass_exit();
}

void ThreadCommunicator::wait_for_all(ThreadGroup& group) {
  ThreadMembers& members = group.members();
  const auto waits = [&] { world_.waits(rank_, members, group.calls()); };
  if (!members.entry.pass(group.calls(), waits)) throw_fault();
  const std::string what = disagreement(
      members.ranks, [&](size_t i) -> const PlacedCall& { return group.post(i).call; });
  if (what.empty()) return;
  world_.fail(-1, what);
  throw CommError(-1, what);
}

void ThreadCommunicator::reduce_all(ThreadGroup& group, const Call& call, void* receive) {
  const size_t width = size_of(call.element), line = 64 / width, n = group.size();
  if (is_copied(call, group.size()) || n * call.count * width <= reduce_alone_bytes)
    return group.reduce(call, receive, 0, call.count, 0);
  const size_t chunk = (call.count + n * line - 1) / (n * line) * line;
  const auto begin = [&](size_t i) { return std::min(i * chunk, call.count); };
  const size_t own = group.position();
  group.reduce(call, receive, begin(own), begin(own + 1) - begin(own), begin(own));
  group.pass_exit();
  for (size_t i = 0; i < n; ++i)
    if (i != own)
      copy_bytes(at_byte(receive, begin(i) * width),
                 at_byte(group.post(i).receive, begin(i) * width),
                 (begin(i + 1) - begin(i)) * width);
}

void run_rank(ThreadWorld& world, int rank, const std::function<void(Communicator&)>& body) {
  ThreadCommunicator communicator(world, rank);
  try {
    body(communicator);
  } catch (const std::exception& error) {
    communicator.fail(error.what());
  } catch (...) {
    communicator.fail("an exception of unknown type");
  }
  world.ends(rank);
}

}  // namespace

void run_on_threads(int size, const std::function<void(Communicator&)>& body) {
  ThreadWorld world(size);
  std::vector<std::thread> threads;
  try {
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] { run_rank(world, rank, body); });
  } catch (const std::system_error& error) {
    world.fail(-1, "cannot start rank " + std::to_string(threads.size()) + ": " + error.what());
  }
  for (std::thread& thread : threads) thread.join();
  if (const auto fault = world.fault()) throw *fault;
}

}  // namespace shardproof
