#include "impl/comm/splits.h"

#include <algorithm>

namespace shardproof {
namespace {

bool contains(const std::vector<int>& group, int rank) {
  return std::find(group.begin(), group.end(), rank) != group.end();
}

bool fits(const Split& split, const std::vector<int>& group) {
  return std::none_of(group.begin(), group.end(),
                      [&](int rank) { return seat_in(split, rank).has_value(); });
}

}  // namespace

std::vector<Split> splits_of(const std::vector<std::vector<int>>& groups) {
  std::vector<Split> splits;
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto here = groups.begin() + static_cast<std::ptrdiff_t>(i);
    if (groups[i].size() < 2 || std::find(groups.begin(), here, groups[i]) != here) continue;
    const auto room = std::find_if(splits.begin(), splits.end(),
                                   [&](const Split& split) { return fits(split, groups[i]); });
    (room == splits.end() ? splits.emplace_back() : *room).push_back(groups[i]);
  }
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
