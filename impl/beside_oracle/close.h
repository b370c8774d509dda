#pragma once
// Compares numbers: bit by bit where they are exact, else within a bound that the caller derives
// from dtype, length of the sums and depth. NaN is equal to nothing, unless the bound is infinite.
#include <cstdint>
#include <string>
#include <vector>

namespace shardproof::beside {

/// Empty if |got - wanted| <= allowed for every entry; 0 means equal bits (but 0 equals -0). Else
/// index, both values, error, bound, and the best-fit factor <got, wanted> / <wanted, wanted>: a
/// factor of 2, |t| or 1/|c| hints at the bug.
std::string difference(const std::vector<double>& got, const std::vector<double>& wanted,
                       double allowed);

}  // namespace shardproof::beside
