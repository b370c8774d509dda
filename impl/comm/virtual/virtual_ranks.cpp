#include "impl/comm/virtual/virtual_ranks.h"

#include <exception>
#include <mutex>
#include <numeric>

#include "impl/comm/bytes.h"
#include "impl/comm/thread_rank.h"

namespace shardproof {
namespace {

/// Lets one rank at a time record: CUDA does not promise that several threads can record one graph
/// concurrently. A rank that waits for others passes the turn on.
class Turn {
 public:
  explicit Turn(std::mutex& of_all) : lock_(of_all, std::defer_lock) {}

  template <class Work>
  void take(const Work& work) {
    const std::lock_guard taken(lock_);
    work();
  }
  template <class Wait>
  void give_way(const Wait& wait) {
    if (!lock_.owns_lock()) return wait();
    lock_.unlock();
    try {
      wait();
    } catch (...) {
      lock_.lock();
      throw;
    }
    lock_.lock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

/// The work of one member's stream in a call. After each part the members meet on the host, so that
/// each can wait for the others' events. Exceptions of a part are rethrown at the end, because
/// every member must reach every meeting.
class Exchange {
 public:
  Exchange(ThreadGroup& group, Queue& queue, Turn& turn)
      : group_(group), queue_(queue), turn_(turn) {}

  /// Before the members agree: the member's buffers are ready at this point of the stream.
  void post(const void* send, void* receive);
  /// Enqueues `work`, and publishes an event for its end.
  template <class Work>
  void part(std::shared_ptr<Event> ThreadPost::*ended, const Work& work);
  /// Makes the stream wait for that member's event.
  void wait_for(int position, std::shared_ptr<Event> ThreadPost::*event);
  void wait_for_all(std::shared_ptr<Event> ThreadPost::*event) {
    for (int i = 0; i < group_.size(); ++i) wait_for(i, event);
  }
  /// Rethrows the first error.
  void end() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  ThreadGroup& group_;
  Queue& queue_;
  Turn& turn_;
  std::exception_ptr error_;
};

void Exchange::post(const void* send, void* receive) {
  ThreadPost& own = group_.own_post();
  own.send = send;
  own.receive = receive;
  own.ready = queue_.record();
  own.reduced = own.done = nullptr;
}

/// Without an event, the other member has failed; it reports why.
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
  turn_.give_way([&] { group_.pass_exit(); });
}

class VirtualRank : public ThreadRank {
 public:
  VirtualRank(Device& device, ThreadWorld& world, int rank, std::mutex& recording)
      : ThreadRank(world, rank),
        device_(device),
        own_(device.queue()),
        queue_(own_.get()),
        turn_(recording) {}

  void use(Queue& queue) override { queue_ = &queue; }
  std::shared_ptr<Graph> record(Device& device, Queue& queue,
                                const std::function<void()>& work) override;
  /// `whole`: all ranks' work; set on rank 0.
  void run_recorded(Queue& queue, Graph* whole);
  void collective(Group& group, const Call& call, const void* send, void* receive,
                  const std::string& place) override;

 private:
  /// Enqueues the work of a call after all members have announced it.
  void give(ThreadGroup& group, Exchange& exchange, const Call& call, void* receive);
  void copy(void* to, const void* from, size_t bytes) override {
    if (bytes) device_.copy(*queue_, to, from, bytes);
  }
  void join(const Call& call, const std::vector<const void*>& sources, void* out,
            size_t count) override {
    device_.reduce_ranks(*queue_, call.element, call.reduction, sources.data(),
                         static_cast<int>(sources.size()), out, count);
  }

  using Events = std::vector<std::shared_ptr<Event>>;
  /// All ranks meet, each with an event or none; returns the events by rank.
  Events meet(std::shared_ptr<Event> own, const std::string& place);
  /// Rank 0's stream has started recording; the others join it.
  void record_part(Queue& queue, const std::function<void()>& work, const Events& begun);
  void agree_in_turn(ThreadGroup& group) {
    turn_.give_way([&] { agree(group); });
  }

  Device& device_;
  const std::unique_ptr<Queue> own_;
  Queue* queue_;
  Turn turn_;
};

/// One rank's handle of a graph that all ranks recorded.
class SharedGraph : public Graph {
 public:
  SharedGraph(VirtualRank& rank, std::unique_ptr<Graph> whole)
      : rank_(rank), whole_(std::move(whole)) {}
  void run(Queue& queue) override { rank_.run_recorded(queue, whole_.get()); }

 private:
  VirtualRank& rank_;
  const std::unique_ptr<Graph> whole_;
};

constexpr const char* recording_place = "the recording of a step";

VirtualRank::Events VirtualRank::meet(std::shared_ptr<Event> own, const std::string& place) {
  std::vector<int> everybody(size());
  std::iota(everybody.begin(), everybody.end(), 0);
  ThreadGroup& all = static_cast<ThreadGroup&>(group(everybody));
  all.begin(Call::move(Collective::all_gather, 0), place).ready = std::move(own);
  all.announce();
  agree_in_turn(all);
  Events events;
  for (int rank = 0; rank < size(); ++rank) events.push_back(all.post(rank).ready);
  return events;
}

void VirtualRank::record_part(Queue& queue, const std::function<void()>& work,
                              const Events& begun) {
  std::shared_ptr<Event> end;
  turn_.take([&] {
    if (rank() != 0) queue.wait(*begun[0]);
    work();
    end = queue.record();
  });
  const Events ended = meet(end, recording_place);
  for (int other = 1; rank() == 0 && other < size(); ++other) queue.wait(*ended[other]);
}

/// Records the streams of all ranks into one graph: rank 0's stream starts, the others join through
/// its first event, and it waits for their last events.
std::shared_ptr<Graph> VirtualRank::record(Device& device, Queue& queue,
                                           const std::function<void()>& work) {
  require_alive();
  std::unique_ptr<Graph> whole;
  bool records = false;
  const auto begin = [&] {
    records = true;
    record_part(queue, work, meet(queue.record(), recording_place));
  };
  if (rank() == 0) {
    whole = device.record(queue, begin);
    if (!records) meet(nullptr, recording_place);
  } else {
    const Events begun = meet(nullptr, recording_place);
    records = begun[0] != nullptr;
    if (records) record_part(queue, work, begun);
  }
  if (!records) return nullptr;
  meet(nullptr, recording_place);  // all work enqueued before this is recorded
  return std::make_shared<SharedGraph>(*this, std::move(whole));
}

void VirtualRank::run_recorded(Queue& queue, Graph* whole) {
  require_alive();
  const std::string place = "a recorded step";
  const Events ready = meet(queue.record(), place);
  for (int other = 1; whole && other < size(); ++other) queue.wait(*ready[other]);
  if (whole) whole->run(queue);
  const Events ended = meet(whole ? queue.record() : nullptr, place);
  if (!whole) queue.wait(*ended[0]);
}

void VirtualRank::collective(Group& group, const Call& call, const void* send, void* receive,
                             const std::string& place) {
  ThreadGroup& own = static_cast<ThreadGroup&>(group);
  require_alive();
  if (own.size() == 1) {  // no host sync or event, so that it can be recorded
    copy(receive, send, call.bytes());
  } else {
    Exchange exchange(own, *queue_, turn_);
    own.begin(call, place);
    exchange.post(send, receive);
    own.announce();
    agree_in_turn(own);
    give(own, exchange, call, receive);
    exchange.end();
  }
  if (queue_ == own_.get()) queue_->finish();
}

void VirtualRank::give(ThreadGroup& group, Exchange& exchange, const Call& call, void* receive) {
  const bool permutes = call.collective == Collective::permute;
  const bool is_shared = ThreadRank::is_shared(call, group.size());
  if (is_shared)
    exchange.part(&ThreadPost::reduced, [&] {
      exchange.wait_for_all(&ThreadPost::ready);
      reduce_own_part(group, call, receive);
    });
  exchange.part(&ThreadPost::done, [&] {
    if (is_shared) {
      exchange.wait_for_all(&ThreadPost::reduced);
      return copy_other_parts(group, call, receive);
    }
    permutes ? exchange.wait_for(call.from, &ThreadPost::ready)
             : exchange.wait_for_all(&ThreadPost::ready);
    receive_all(group, call, receive);
  });
  permutes ? exchange.wait_for(call.to, &ThreadPost::done)
           : exchange.wait_for_all(&ThreadPost::done);
}

}  // namespace

void run_on_virtual_ranks(Device& device, int world,
                          const std::function<void(Communicator&)>& body) {
  std::mutex recording;
  run_ranks(
      world,
      [&](ThreadWorld& threads, int rank) {
        return std::make_unique<VirtualRank>(device, threads, rank, recording);
      },
      body);
}

}  // namespace shardproof
