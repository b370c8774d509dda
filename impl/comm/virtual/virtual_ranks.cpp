#include "impl/comm/virtual/virtual_ranks.h"

#include <exception>

#include "impl/comm/bytes.h"
#include "impl/comm/parts.h"
#include "impl/comm/thread_rank.h"

namespace shardproof {
namespace {

/// What one member's queue is given in a call: parts of work, and after each the members meet on
/// the host, so that each may wait for the events of the others. What a part throws is thrown at
/// the end: who has begun must come to every meeting.
class Exchange {
 public:
  Exchange(ThreadGroup& group, Queue& queue) : group_(group), queue_(queue) {}

  /// Before the members agree: the own buffers are ready when the queue comes here.
  void post(const void* send, void* receive);
  /// Gives `work` to the queue, and lets the others know when it has ended.
  template <class Work>
  void part(std::shared_ptr<Event> ThreadPost::*ended, const Work& work);
  /// The queue goes on when that member's event has come.
  void wait_for(int position, std::shared_ptr<Event> ThreadPost::*event);
  void wait_for_all(std::shared_ptr<Event> ThreadPost::*event) {
    for (int i = 0; i < group_.size(); ++i) wait_for(i, event);
  }
  /// Throws what went wrong.
  void end() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  ThreadGroup& group_;
  Queue& queue_;
  std::exception_ptr error_;
};

void Exchange::post(const void* send, void* receive) {
  ThreadPost& own = group_.own_post();
  own.send = send;
  own.receive = receive;
  own.ready = queue_.record();
  own.reduced = own.done = nullptr;
}

/// Without an event the other has failed, and says so.
void Exchange::wait_for(int position, std::shared_ptr<Event> ThreadPost::*event) {
  const ThreadPost& other = group_.post(position);
  if (position != group_.position() && other.*event) queue_.wait(*(other.*event));
}

template <class Work>
void Exchange::part(std::shared_ptr<Event> ThreadPost::*ended, const Work& work) {
  try {
    if (!error_) {
      work();
      group_.own_post().*ended = queue_.record();
    }
  } catch (...) {
    error_ = std::current_exception();
  }
  group_.pass_exit();
}

class VirtualRank : public ThreadRank {
 public:
  VirtualRank(Device& device, ThreadWorld& world, int rank)
      : ThreadRank(world, rank), device_(device), own_(device.queue()), queue_(own_.get()) {}

  void use(Queue& queue) override { queue_ = &queue; }
  void all_gather(Group& group, const void* send, void* receive, size_t bytes,
                  const std::string& place) override;
  void all_reduce(Group& group, const void* send, void* receive, size_t count, Element element,
                  Reduction reduction, const std::string& place) override;
  void reduce_scatter(Group& group, const void* send, void* receive, size_t count, Element element,
                      Reduction reduction, const std::string& place) override;
  void all_to_all(Group& group, const void* send, void* receive, size_t bytes,
                  const std::string& place) override;
  void permute(Group& group, const void* send, int to, void* receive, int from, size_t bytes,
               const std::string& place) override;

 private:
  /// Announces the call, waits until all members have, and gives `parts` to the queue.
  template <class Work>
  void exchange(Group& group, const Call& call, const void* send, void* receive,
                const std::string& place, const Work& parts);
  /// One part that reads what all others send, when it is ready.
  template <class Work>
  void read_all(Group& group, const Call& call, const void* send, void* receive,
                const std::string& place, const Work& work);
  void copy(void* to, const void* from, size_t bytes) {
    if (bytes) device_.copy(*queue_, to, from, bytes);
  }
  /// receive[offset, count) = all members' entries [begin, begin + count).
  void reduce(ThreadGroup& group, const Call& call, void* receive, size_t begin, size_t count,
              size_t offset);
  void reduce_by_parts(ThreadGroup& group, Exchange& parts, const Call& call, void* receive);

  Device& device_;
  const std::unique_ptr<Queue> own_;
  Queue* queue_;
  std::vector<const void*> sources_;
};

template <class Work>
void VirtualRank::exchange(Group& group, const Call& call, const void* send, void* receive,
                           const std::string& place, const Work& parts) {
  ThreadGroup& own = static_cast<ThreadGroup&>(group);
  require_alive();
  if (own.size() == 1) {  // without a word or an event, so that it can be recorded
    copy(receive, send, call.count * size_of(call.element));
  } else {
    Exchange exchange(own, *queue_);
    own.begin(call, place);
    exchange.post(send, receive);
    own.announce();
    agree(own);
    parts(own, exchange);
    exchange.end();
  }
  if (queue_ == own_.get()) queue_->finish();
}

template <class Work>
void VirtualRank::read_all(Group& group, const Call& call, const void* send, void* receive,
                           const std::string& place, const Work& work) {
  exchange(group, call, send, receive, place, [&](ThreadGroup& of, Exchange& exchange) {
    exchange.part(&ThreadPost::done, [&] {
      exchange.wait_for_all(&ThreadPost::ready);
      work(of);
    });
    exchange.wait_for_all(&ThreadPost::done);
  });
}

void VirtualRank::reduce(ThreadGroup& group, const Call& call, void* receive, size_t begin,
                         size_t count, size_t offset) {
  if (!count) return;
  const size_t width = size_of(call.element);
  sources_.clear();
  for (int i = 0; i < group.size(); ++i) sources_.push_back(group.sent(i, begin * width));
  device_.reduce_ranks(*queue_, call.element, call.reduction, sources_.data(), group.size(),
                       at_byte(receive, offset * width), count);
}

void VirtualRank::all_gather(Group& group, const void* send, void* receive, size_t bytes,
                             const std::string& place) {
  read_all(group, Call::move(Collective::all_gather, bytes), send, receive, place,
           [&](ThreadGroup& of) {
             for (int i = 0; i < of.size(); ++i)
               copy(at_byte(receive, i * bytes), of.sent(i, 0), bytes);
           });
}

void VirtualRank::all_reduce(Group& group, const void* send, void* receive, size_t count,
                             Element element, Reduction reduction, const std::string& place) {
  const Call call{Collective::all_reduce, element, reduction, count};
  if (group.size() * count * size_of(element) <= reduce_alone_bytes)
    return read_all(group, call, send, receive, place,
                    [&](ThreadGroup& of) { reduce(of, call, receive, 0, count, 0); });
  exchange(group, call, send, receive, place, [&](ThreadGroup& of, Exchange& exchange) {
    reduce_by_parts(of, exchange, call, receive);
  });
}

void VirtualRank::reduce_by_parts(ThreadGroup& group, Exchange& exchange, const Call& call,
                                  void* receive) {
  const size_t width = size_of(call.element), own = group.position();
  const Parts parts(call.count, call.element, group.size());
  exchange.part(&ThreadPost::reduced, [&] {
    exchange.wait_for_all(&ThreadPost::ready);
    reduce(group, call, receive, parts.begin(own), parts.size(own), parts.begin(own));
  });
  exchange.part(&ThreadPost::done, [&] {
    exchange.wait_for_all(&ThreadPost::reduced);
    for (size_t i = 0; i < static_cast<size_t>(group.size()); ++i)
      if (i != own)
        copy(at_byte(receive, parts.begin(i) * width),
             at_byte(group.post(i).receive, parts.begin(i) * width), parts.size(i) * width);
  });
  exchange.wait_for_all(&ThreadPost::done);
}

void VirtualRank::reduce_scatter(Group& group, const void* send, void* receive, size_t count,
                                 Element element, Reduction reduction, const std::string& place) {
  const Call call{Collective::reduce_scatter, element, reduction, count};
  read_all(group, call, send, receive, place,
           [&](ThreadGroup& of) { reduce(of, call, receive, of.position() * count, count, 0); });
}

void VirtualRank::all_to_all(Group& group, const void* send, void* receive, size_t bytes,
                             const std::string& place) {
  read_all(group, Call::move(Collective::all_to_all, bytes), send, receive, place,
           [&](ThreadGroup& of) {
             for (int i = 0; i < of.size(); ++i)
               copy(at_byte(receive, i * bytes), of.sent(i, of.position() * bytes), bytes);
           });
}

void VirtualRank::permute(Group& group, const void* send, int to, void* receive, int from,
                          size_t bytes, const std::string& place) {
  exchange(group, Call::permute(bytes, to, from, group.size()), send, receive, place,
           [&](ThreadGroup& of, Exchange& exchange) {
             exchange.part(&ThreadPost::done, [&] {
               exchange.wait_for(from, &ThreadPost::ready);
               copy(receive, of.sent(from, 0), bytes);
             });
             exchange.wait_for(to, &ThreadPost::done);
           });
}

}  // namespace

void run_on_virtual_ranks(Device& device, int world,
                          const std::function<void(Communicator&)>& body) {
  run_ranks(
      world,
      [&device](ThreadWorld& threads, int rank) {
        return std::make_unique<VirtualRank>(device, threads, rank);
      },
      body);
}

}  // namespace shardproof
