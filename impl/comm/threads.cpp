#include "impl/comm/threads.h"

#include "impl/comm/bytes.h"
#include "impl/comm/parts.h"
#include "impl/comm/thread_rank.h"
#include "kernels/cpu/reduce_ranks.h"

namespace shardproof {
namespace {

/// Of a call in a group of `size`.
size_t bytes_sent(const Call& call, int size) {
  const bool scatters =
      call.collective == Collective::reduce_scatter || call.collective == Collective::all_to_all;
  return call.count * size_of(call.element) * (scatters ? size : 1);
}

bool is_copied(const Call& call, int size) { return bytes_sent(call, size) <= copied_bytes; }

void announce(ThreadGroup& group, const Call& call, const void* send, void* receive,
              const std::string& place) {
  ThreadPost& own = group.begin(call, place);
  own.send = send;
  own.receive = receive;
  if (is_copied(call, group.size())) {
    copy_bytes(own.copied, send, bytes_sent(call, group.size()));
    own.send = own.copied;
  }
  group.announce();
}

class ThreadCommunicator : public ThreadRank {
 public:
  using ThreadRank::ThreadRank;

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
             [&](ThreadGroup& of) { reduce(of, call, receive, of.position() * count, count, 0); });
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

 private:
  /// Announces the call, waits until all members have, and calls `move` while all buffers are
  /// there.
  template <class Move>
  void exchange(Group& group, const Call& call, const void* send, void* receive,
                const std::string& place, const Move& move);
  /// receive[0, count) = all members' entries [begin, begin + count), in the order of the group.
  void reduce(ThreadGroup& group, const Call& call, void* receive, size_t begin, size_t count,
              size_t offset);
  void reduce_all(ThreadGroup& group, const Call& call, void* receive);

  std::vector<const void*> sources_;
};

template <class Move>
void ThreadCommunicator::exchange(Group& group, const Call& call, const void* send, void* receive,
                                  const std::string& place, const Move& move) {
  ThreadGroup& own = static_cast<ThreadGroup&>(group);
  require_alive();
  announce(own, call, send, receive, place);
  agree(own);
  move(own);
  if (!is_copied(call, own.size())) own.pass_exit();
}

void ThreadCommunicator::reduce(ThreadGroup& group, const Call& call, void* receive, size_t begin,
                                size_t count, size_t offset) {
  if (!count) return;
  const size_t width = size_of(call.element);
  sources_.clear();
  for (int i = 0; i < group.size(); ++i) sources_.push_back(group.sent(i, begin * width));
  reduce_ranks(call.element, call.reduction, sources_.data(), group.size(),
               at_byte(receive, offset * width), count);
}

void ThreadCommunicator::reduce_all(ThreadGroup& group, const Call& call, void* receive) {
  const size_t width = size_of(call.element), n = group.size(), own = group.position();
  if (is_copied(call, group.size()) || n * call.count * width <= reduce_alone_bytes)
    return reduce(group, call, receive, 0, call.count, 0);
  const Parts parts(call.count, call.element, n);
  reduce(group, call, receive, parts.begin(own), parts.size(own), parts.begin(own));
  group.pass_exit();
  for (size_t i = 0; i < n; ++i)
    if (i != own)
      copy_bytes(at_byte(receive, parts.begin(i) * width),
                 at_byte(group.post(i).receive, parts.begin(i) * width), parts.size(i) * width);
}

}  // namespace

void run_on_threads(int size, const std::function<void(Communicator&)>& body) {
  run_ranks(
      size,
      [](ThreadWorld& world, int rank) {
        return std::make_unique<ThreadCommunicator>(world, rank);
      },
      body);
}

}  // namespace shardproof
