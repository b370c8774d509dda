#include "impl/comm/thread_rank.h"

#include <optional>
#include <system_error>

#include "impl/comm/bytes.h"
#include "impl/comm/parked_threads.h"
#include "impl/comm/parts.h"
#include "kernels/cpu/threads.h"

namespace shardproof {
namespace {

using Body = std::function<void(Communicator&)>;
using MakeRank = std::function<std::unique_ptr<ThreadRank>(ThreadWorld&, int rank)>;

void run_rank(ThreadWorld& world, int rank, const MakeRank& make, const Body& body) {
  try {
    body(*make(world, rank));
  } catch (const std::exception& error) {
    world.fail(rank, said_by(rank, error.what()));
  } catch (...) {
    world.fail(rank, said_by(rank, "an exception of unknown type"));
  }
  world.ends(rank);
}

}  // namespace

ThreadPost& ThreadGroup::begin(const Call& call, const std::string& place) {
  ++calls_;
  ThreadPost& own = own_post();
  own.call.call = call;
  own.call.place = place;
  return own;
}

Group& ThreadRank::group(const std::vector<int>& ranks) {
  std::unique_ptr<ThreadGroup>& group = groups_[ranks];
  if (!group) {
    const int position = position_in(ranks, rank_, size());
    group = std::make_unique<ThreadGroup>(world_.members(ranks), position);
  }
  return *group;
}

void ThreadRank::fail(const std::string& reason) noexcept {
  world_.fail(rank_, said_by(rank_, reason));
}

void ThreadRank::agree(ThreadGroup& group) {
  ThreadMembers& members = group.members();
  {
    std::optional<cpu::Lent> lent;
    const auto waits = [&] {
      world_.waits(rank_, members, group.calls());
      if (std::this_thread::get_id() == thread_) lent.emplace();
    };
    if (!members.entry.pass(group.calls(), waits)) throw_fault();
  }
  const std::string what = disagreement(
      members.ranks, [&](size_t i) -> const PlacedCall& { return group.post(i).call; });
  if (what.empty()) return;
  world_.fail(-1, what);
  throw CommError(-1, what);
}

bool ThreadRank::is_shared(const Call& call, int size) {
  return call.collective == Collective::all_reduce &&
         call.bytes() * static_cast<size_t>(size) > reduce_alone_bytes;
}

void ThreadRank::receive_all(ThreadGroup& group, const Call& call, void* receive) {
  const size_t bytes = call.bytes(), own = group.position();
  switch (call.collective) {
    case Collective::all_gather:
      for (int i = 0; i < group.size(); ++i)
        copy(at_byte(receive, i * bytes), group.sent(i, 0), bytes);
      break;
    case Collective::all_reduce:
      return reduce(group, call, receive, 0, call.count, 0);
    case Collective::reduce_scatter:
      return reduce(group, call, receive, own * call.count, call.count, 0);
    case Collective::all_to_all:
      for (int i = 0; i < group.size(); ++i)
        copy(at_byte(receive, i * bytes), group.sent(i, own * bytes), bytes);
      break;
    case Collective::permute:
      return copy(receive, group.sent(call.from, 0), bytes);
    case Collective::send:
      if (call.gets(group.position())) copy(receive, group.sent(0, 0), bytes);
      break;
  }
}

void ThreadRank::reduce(ThreadGroup& group, const Call& call, void* receive, size_t begin,
                        size_t count, size_t offset) {
  if (!count) return;
  const size_t width = size_of(call.element);
  sources_.clear();
  for (int i = 0; i < group.size(); ++i) sources_.push_back(group.sent(i, begin * width));
  join(call, sources_, at_byte(receive, offset * width), count);
}

void ThreadRank::reduce_own_part(ThreadGroup& group, const Call& call, void* receive) {
  const Parts parts(call.count, call.element, group.size());
  const size_t own = group.position();
  reduce(group, call, receive, parts.begin(own), parts.size(own), parts.begin(own));
}

void ThreadRank::copy_other_parts(ThreadGroup& group, const Call& call, void* receive) {
  const Parts parts(call.count, call.element, group.size());
  const size_t width = size_of(call.element), own = group.position();
  for (size_t i = 0; i < static_cast<size_t>(group.size()); ++i)
    if (i != own)
      copy(at_byte(receive, parts.begin(i) * width),
           at_byte(group.post(i).receive, parts.begin(i) * width), parts.size(i) * width);
}

void run_ranks(int size, const MakeRank& make, const Body& body) {
  ThreadWorld world(size);
  {
    ParkedThreads threads;
    int rank = 1;
    try {
      for (; rank < size; ++rank) threads.start([&, rank] { run_rank(world, rank, make, body); });
    } catch (const std::system_error& error) {
      world.fail(-1, "cannot start rank " + std::to_string(rank) + ": " + error.what());
    }
    run_rank(world, 0, make, body);
  }
  if (const auto fault = world.fault()) throw *fault;
}

}  // namespace shardproof
