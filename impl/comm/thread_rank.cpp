#include "impl/comm/thread_rank.h"

#include <system_error>

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
  const auto waits = [&] { world_.waits(rank_, members, group.calls()); };
  if (!members.entry.pass(group.calls(), waits)) throw_fault();
  const std::string what = disagreement(
      members.ranks, [&](size_t i) -> const PlacedCall& { return group.post(i).call; });
  if (what.empty()) return;
  world_.fail(-1, what);
  throw CommError(-1, what);
}

void run_ranks(int size, const MakeRank& make, const Body& body) {
  ThreadWorld world(size);
  std::vector<std::thread> threads;
  try {
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] { run_rank(world, rank, make, body); });
  } catch (const std::system_error& error) {
    world.fail(-1, "cannot start rank " + std::to_string(threads.size()) + ": " + error.what());
  }
  for (std::thread& thread : threads) thread.join();
  if (const auto fault = world.fault()) throw *fault;
}

}  // namespace shardproof
