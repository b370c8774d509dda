#include "impl/comm/thread_world.h"

#include <algorithm>

namespace shardproof {

ThreadMembers& ThreadWorld::members(const std::vector<int>& ranks) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<ThreadMembers>& members = members_[ranks];
  if (!members) {
    members = std::make_unique<ThreadMembers>(ranks);
    if (fault_) members->entry.shut();
  }
  return *members;
}

/// Whether the member has not announced the call yet. It does so before it arrives at the gate.
bool ThreadWorld::missing(const Wait& wait, size_t position) {
  const uint32_t calls = wait.members->slots[position].calls.load(std::memory_order_acquire);
  return static_cast<int32_t>(calls - wait.call) < 0;
}

void ThreadWorld::waits(int rank, ThreadMembers& members, uint32_t call) {
  const std::lock_guard lock(mutex_);
  waits_[rank] = {&members, call};
  look_for_end(rank);
  std::vector<int> path{rank};
  std::vector<bool> seen(waits_.size());
  look_for_circle(rank, path, seen);
}

void ThreadWorld::ends(int rank) {
  const std::lock_guard lock(mutex_);
  waits_[rank] = {.ended = true};
  for (int other = 0; other < size(); ++other) look_for_end(other);
}

void ThreadWorld::look_for_end(int rank) {
  const Wait& wait = waits_[rank];
  if (!wait.members) return;
  for (size_t i = 0; i < wait.members->ranks.size(); ++i)
    if (const int other = wait.members->ranks[i]; missing(wait, i) && waits_[other].ended)
      fail_locked(other, "rank " + std::to_string(other) + " has ended; " + hop(rank, other));
}

/// Extends the path by the ranks for which its last rank waits; true if it returns to its start.
/// The newest wait closes any cycle, so starting there suffices.
bool ThreadWorld::look_for_circle(int rank, std::vector<int>& path, std::vector<bool>& seen) {
  const Wait& wait = waits_[rank];
  if (!wait.members) return false;
  for (size_t i = 0; i < wait.members->ranks.size(); ++i) {
    if (!missing(wait, i)) continue;
    const int next = wait.members->ranks[i];
    if (next == path.front()) {
      fail_locked(-1, "ranks wait for each other: " + circle(path));
      return true;
    }
    if (seen[next]) continue;
    seen[next] = true;
    path.push_back(next);
    if (look_for_circle(next, path, seen)) return true;
    path.pop_back();
  }
  return false;
}

std::string ThreadWorld::circle(const std::vector<int>& path) const {
  std::string text;
  for (size_t i = 0; i < path.size(); ++i)
    text += (i ? "; " : "") + hop(path[i], path[(i + 1) % path.size()]);
  return text;
}

std::string ThreadWorld::hop(int rank, int awaited) const {
  ThreadMembers& members = *waits_[rank].members;
  const auto position = std::find(members.ranks.begin(), members.ranks.end(), rank);
  return "rank " + std::to_string(rank) + " waits for rank " + std::to_string(awaited) + " in " +
         to_string(members.slots[position - members.ranks.begin()].post(waits_[rank].call).call) +
         ", of " + text_of_ranks(members.ranks);
}

void ThreadWorld::fail(int rank, const std::string& what) {
  const std::lock_guard lock(mutex_);
  fail_locked(rank, what);
}

void ThreadWorld::fail_locked(int rank, const std::string& what) {
  if (fault_) return;
  fault_.emplace(rank, what);
  failed_ = true;
  for (auto& [ranks, members] : members_) members->entry.shut();
}

std::optional<CommError> ThreadWorld::fault() {
  const std::lock_guard lock(mutex_);
  return fault_;
}

}  // namespace shardproof
