#pragma once
// The one numeric comparison. It is bitwise where numbers are exact, and otherwise within a bound
// that the caller derives from dtype, length of the sums and depth. NaN is never equal.
#include <cstdint>
#include <string>
#include <vector>

namespace shardproof::beside {

/// Empty where |got - wanted| <= allowed for every entry; 0: bit for bit (but 0 and -0 are the
/// same). Otherwise index, both values, the error, the bound, and the best factor <got, wanted> /
/// <wanted, wanted>: 2, |t| or 1/|c| names the bug.
std::string difference(const std::vector<double>& got, const std::vector<double>& wanted,
                       double allowed);

}  // namespace shardproof::beside
