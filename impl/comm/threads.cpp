#include "impl/comm/threads.h"

#include "impl/comm/bytes.h"
#include "impl/comm/thread_rank.h"
#include "kernels/cpu/reduce_ranks.h"

namespace shardproof {
namespace {

bool is_copied(const Call& call, int size) { return call.bytes_sent(size) <= copied_bytes; }

void announce(ThreadGroup& group, const Call& call, const void* send, void* receive,
              const std::string& place) {
  ThreadPost& own = group.begin(call, place);
  own.send = send;
  own.receive = receive;
  if (is_copied(call, group.size())) {
    if (call.gives(group.position())) copy_bytes(own.copied, send, call.bytes_sent(group.size()));
    own.send = own.copied;
  }
  group.announce();
}

class ThreadCommunicator : public ThreadRank {
 public:
  using ThreadRank::ThreadRank;

  /// Announces the call, waits for all members, and moves data while all buffers are valid.
  void collective(Group& group, const Call& call, const void* send, void* receive,
                  const std::string& place) override {
    ThreadGroup& own = static_cast<ThreadGroup&>(group);
    require_alive();
    announce(own, call, send, receive, place);
    agree(own);
    const bool copied = is_copied(call, own.size());
    if (!copied && is_shared(call, own.size()))
      reduce_by_parts(own, call, receive);
    else
      receive_all(own, call, receive);
    if (!copied) own.pass_exit();
  }

 private:
  void reduce_by_parts(ThreadGroup& group, const Call& call, void* receive) {
    reduce_own_part(group, call, receive);
    group.pass_exit();
    copy_other_parts(group, call, receive);
  }
  void copy(void* to, const void* from, size_t bytes) override { copy_bytes(to, from, bytes); }
  void join(const Call& call, const std::vector<const void*>& sources, void* out,
            size_t count) override {
    reduce_ranks(call.element, call.reduction, sources.data(), static_cast<int>(sources.size()),
                 out, count);
  }
};

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
