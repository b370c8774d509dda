#include "impl/comm/store/compare.h"

#include <algorithm>
#include <sstream>

namespace shardproof {
namespace {

using Clock = std::chrono::steady_clock;

std::string written(const PlacedCall& placed) {
  const Call& call = placed.call;
  std::ostringstream out;
  out << int(call.collective) << " " << int(call.element) << " " << int(call.reduction) << " "
      << call.count << " " << call.to << " " << call.from << " " << placed.place;
  return out.str();
}

PlacedCall parsed(const std::string& text) {
  std::istringstream in(text);
  int collective = 0, element = 0, reduction = 0;
  PlacedCall placed;
  in >> collective >> element >> reduction >> placed.call.count >> placed.call.to >>
      placed.call.from;
  in.get();
  std::getline(in, placed.place, '\0');
  placed.call.collective = static_cast<Collective>(collective);
  placed.call.element = static_cast<Element>(element);
  placed.call.reduction = static_cast<Reduction>(reduction);
  return placed;
}

/// Waits for the value of a key; throws if another rank has failed.
std::string awaited(Store& store, const std::string& key, Clock::time_point end,
                    const std::function<void()>& require_alive, const std::string& waits) {
  const auto left = std::max(Milliseconds(0), std::chrono::ceil<Milliseconds>(end - Clock::now()));
  try {
    return store.get(key, left, require_alive);
  } catch (const StoreTimeout&) {
    throw CommError(-1, waits);
  }
}

}  // namespace

void CallComparison::compare(Store& store, const Group& group, const Call& call,
                             const std::string& place, Milliseconds timeout,
                             const std::function<void()>& require_alive) {
  const PlacedCall own{call, place};
  PlacedCall known = own;
  known.call.to = known.call.from = 0;
  if (!known_.insert(written(known)).second) return;
  const std::string of = ", of " + text_of_ranks(group.ranks());
  const std::string keys = "call" + of + "/" + std::to_string(compared_++) + "/";
  store.set(keys + std::to_string(group.position()), written(own));
  const auto end = Clock::now() + timeout;
  std::vector<PlacedCall> calls;
  for (int i = 0; i < group.size(); ++i) {
    const std::string rank = std::to_string(group.ranks()[group.position()]),
                      other = std::to_string(group.ranks()[i]);
    calls.push_back(parsed(
        awaited(store, keys + std::to_string(i), end, require_alive,
                "rank " + rank + " waits for rank " + other + " in " + to_string(own) + of)));
  }
  const std::string what =
      disagreement(group.ranks(), [&](size_t i) -> const PlacedCall& { return calls[i]; });
  if (!what.empty()) throw CommError(-1, what);
}

}  // namespace shardproof
