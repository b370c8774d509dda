#pragma once
// The one numeric comparison. It is bitwise where numbers are exact, and otherwise within a bound
// that the caller derives from dtype, length of the sums and depth. NaN is never equal.
#include <cstdint>
#include <string>
#include <vector>

namespace shardproof::properties {

/// How far a result may be from the reference: |got - wanted| <= relative * scale + absolute, where
/// scale is the largest |wanted| of the tensor, and absolute the rounding of terms that cancel. 0
/// and 0: bit for bit (but 0 and -0 are the same).
struct Bound {
  double relative = 0, absolute = 0;
};
/// For small programs on numbers near 1, in f64.
inline constexpr Bound in_double{1e-9, 1e-12};

/// Empty where they agree. Otherwise index, both values, the error, the bound, and the best factor
/// <got, wanted> / <wanted, wanted>: 2, |t| or 1/|c| names the bug.
std::string difference(const std::vector<double>& got, const std::vector<double>& wanted,
                       const Bound& bound);

}  // namespace shardproof::properties
