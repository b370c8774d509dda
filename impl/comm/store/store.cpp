#include "impl/comm/store/store.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace shardproof {
namespace {

using Clock = std::chrono::steady_clock;

std::string seconds_of(Milliseconds time) {
  return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() / 100 % 10) + " s";
}

/// Polls, first at once, then at growing intervals.
template <class Look>
bool look_until(Clock::time_point end, const Look& look) {
  for (Milliseconds nap(1);; nap = std::min(nap * 2, Milliseconds(50))) {
    if (look()) return true;
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(nap);
  }
}

std::string here(int rank) { return "here/" + std::to_string(rank); }
constexpr const char* world_key = "world";
constexpr const char* verdict_key = "all here";

/// The missing ranks, as text; empty if there are none.
std::string missing(Store& store, int world) {
  std::string ranks;
  for (int rank = 0; rank < world; ++rank)
    if (!store.find(here(rank))) ranks += " " + std::to_string(rank);
  return ranks;
}

std::string missing_text(const std::string& ranks, int world, Milliseconds timeout) {
  return "missing of " + std::to_string(world) + " ranks after " + seconds_of(timeout) +
         ": rank(s)" + ranks;
}

void come(Store& store, int rank, int world) {
  const std::string self = "rank " + std::to_string(rank), size = std::to_string(world);
  if (rank < 0 || rank >= world) throw CommError(rank, self + " is not one of " + size + " ranks");
  if (!store.add(world_key, size))
    if (const std::string said = store.find(world_key).value_or(size); said != size)
      throw CommError(rank,
                      self + " says that there are " + size + " ranks, and another one " + said);
  if (!store.add(here(rank), ""))
    throw CommError(rank, self + " is connected already: two processes are " + self +
                              ", or the run has the name of an earlier one");
}

/// Rank 0 decides and tells the others.
std::string judged(Store& store, int world, Milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  int next = 0;
  const bool all = look_until(end, [&] {
    while (next < world && store.find(here(next))) ++next;
    return next == world;
  });
  const std::string verdict = all ? "" : missing_text(missing(store, world), world, timeout);
  store.set(verdict_key, verdict);
  return verdict;
}

std::string heard(Store& store, int world, Milliseconds timeout) {
  std::optional<std::string> verdict;
  look_until(Clock::now() + timeout,
             [&] { return (verdict = store.find(verdict_key)).has_value(); });
  if (verdict) return *verdict;
  const std::string ranks = missing(store, world);
  return missing_text(ranks.empty() ? " 0, which has come and does not answer" : ranks, world,
                      timeout);
}

}  // namespace

std::string Store::get(const std::string& key, Milliseconds timeout,
                       const std::function<void()>& meanwhile) {
  std::optional<std::string> value;
  const auto look = [&] {
    meanwhile();
    return (value = find(key)).has_value();
  };
  if (!look_until(Clock::now() + timeout, look))
    throw StoreTimeout(-1, "no rank has said '" + key + "' within " + seconds_of(timeout));
  return *value;
}

void meet(Store& store, int rank, int world, Milliseconds timeout) {
  come(store, rank, world);
  const std::string verdict =
      rank == 0 ? judged(store, world, timeout) : heard(store, world, timeout);
  if (!verdict.empty()) throw CommError(-1, verdict);
}

}  // namespace shardproof
