#pragma once
// The one numeric comparison. It is bitwise where numbers are exact, and otherwise within a bound
// that the caller derives from dtype, length of the sums and depth. NaN is never equal.
#include <cstdint>
#include <string>
#include <vector>

namespace shardproof::properties {

/// How far a result may be from the reference: |got - wanted| <= relative * scale, where scale is
/// the largest |wanted| of the tensor. 0: bit for bit (but 0 and -0 are the same).
struct Bound {
  double relative = 0;
};

/// Empty where they agree. Otherwise index, both values, the error, the bound, and the best factor
/// <got, wanted> / <wanted, wanted>: 2, |t| or 1/|c| names the bug.
std::string difference(const std::vector<double>& got, const std::vector<double>& wanted,
                       const Bound& bound);

/// The bound for a program of `depth` ops whose longest sum has `length` terms, in floats with
/// `bits` bits of mantissa: each op rounds once, and each sum as a random walk of its terms.
Bound bound_of(int bits, double depth, double length);

}  // namespace shardproof::properties
