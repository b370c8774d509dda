#pragma once
// Creates many groups with few splits of a communicator of all ranks.
#include <optional>
#include <vector>

namespace shardproof {

/// Disjoint groups of ranks. Creating them is collective over all ranks.
using Split = std::vector<std::vector<int>>;

/// Each group of two or more ranks once, in few splits (first fit). Ranks with the same list get
/// the same result.
std::vector<Split> splits_of(const std::vector<std::vector<int>>& groups);

/// A rank's arguments of a split: the colour is the lowest rank of its group, the key its
/// position.
struct Seat {
  int colour, key;
};
/// None: the rank is in no group of the split.
std::optional<Seat> seat_in(const Split& split, int rank);

}  // namespace shardproof
