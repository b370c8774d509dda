#pragma once
// How large a value can get, for all sizes: 2^log2 times dims.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

namespace shardproof::programs {

struct Growth {
  double log2 = 0;
  std::map<std::string, int> dims;

  double at(const std::map<std::string, int64_t>& sizes) const {
    double bits = log2;
    for (const auto& [dim, times] : dims)
      bits += times * std::log2(static_cast<double>(sizes.at(dim)));
    return bits;
  }
};

inline Growth operator*(Growth a, const Growth& b) {
  a.log2 += b.log2;
  for (const auto& [dim, times] : b.dims) a.dims[dim] += times;
  return a;
}

/// A bound of a + b: dims are 1 and more.
inline Growth operator+(Growth a, const Growth& b) {
  a.log2 = std::max(a.log2, b.log2) + 1;
  for (const auto& [dim, times] : b.dims) a.dims[dim] = std::max(a.dims[dim], times);
  return a;
}

inline Growth summed(Growth a, const std::string& dim) {
  ++a.dims[dim];
  return a;
}

}  // namespace shardproof::programs
