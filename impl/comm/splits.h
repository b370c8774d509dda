#pragma once
// How many groups are made at once, of a communicator of all ranks.
#include <optional>
#include <vector>

namespace shardproof {

/// Groups that have no rank in common. All ranks take part in making them.
using Split = std::vector<std::vector<int>>;

/// Each group of two ranks and more once, in as few splits as an early fit gives: the same on every
/// rank that gives the same list.
std::vector<Split> splits_of(const std::vector<std::vector<int>>& groups);

/// Where a rank belongs in a split: the colour is the least rank of its group, the key its
/// position.
struct Seat {
  int colour, key;
};
/// Nothing: in no group of it.
std::optional<Seat> seat_in(const Split& split, int rank);

}  // namespace shardproof
