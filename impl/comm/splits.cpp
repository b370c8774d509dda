#include "impl/comm/splits.h"

#include <algorithm>
#include <set>

namespace shardproof {
namespace {

bool contains(const std::vector<int>& group, int rank) {
  return std::find(group.begin(), group.end(), rank) != group.end();
}

/// A split under construction.
struct Draft {
  Split split;
  std::set<int> taken;

  bool has_room(const std::vector<int>& group) const {
    return std::none_of(group.begin(), group.end(), [&](int rank) { return taken.contains(rank); });
  }
  void add(const std::vector<int>& group) {
    split.push_back(group);
    taken.insert(group.begin(), group.end());
  }
};

}  // namespace

std::vector<Split> splits_of(const std::vector<std::vector<int>>& groups) {
  std::vector<Draft> drafts;
  std::set<std::vector<int>> known;
  for (const std::vector<int>& group : groups) {
    if (group.size() < 2 || !known.insert(group).second) continue;
    const auto room = std::find_if(drafts.begin(), drafts.end(),
                                   [&](const Draft& draft) { return draft.has_room(group); });
    (room == drafts.end() ? drafts.emplace_back() : *room).add(group);
  }
  std::vector<Split> splits;
  for (Draft& draft : drafts) splits.push_back(std::move(draft.split));
  return splits;
}

std::optional<Seat> seat_in(const Split& split, int rank) {
  for (const std::vector<int>& group : split)
    if (contains(group, rank))
      return Seat{*std::min_element(group.begin(), group.end()),
                  static_cast<int>(std::find(group.begin(), group.end(), rank) - group.begin())};
  return std::nullopt;
}

}  // namespace shardproof
