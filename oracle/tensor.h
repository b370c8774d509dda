#pragma once
// A whole tensor in double. Integers and bools are exact in it; keys need all their 64 bits and
// have a payload of their own.
#include <cstdint>
#include <string>
#include <vector>

namespace shardproof::oracle {

using Extents = std::vector<int64_t>;
using Positions = std::vector<int64_t>;  ///< into row-major data

struct Tensor {
  Extents shape;
  std::vector<double> data;    ///< row-major; a bool is 0 or 1
  std::vector<uint64_t> keys;  ///< of a tensor of keys, instead of data
  bool operator==(const Tensor&) const = default;
};

/// The number of entries of a shape; 1 for a scalar.
int64_t count(const Extents& shape);
/// A tensor of one value everywhere.
Tensor filled(Extents shape, double value);
/// A tensor without dims.
Tensor scalar(double value);
/// The distance in row-major data between neighbours along each dim.
Extents row_major(const Extents& shape);
/// base + sum over dims of index * stride, for every index of `shape` in row-major order.
Positions positions(const Extents& shape, const Extents& strides, int64_t base = 0);

/// A shape seen along one dim: the lane (o, i) has its entries at (o * size + j) * inner + i.
struct Lanes {
  Lanes(const Extents& shape, size_t dim);
  Lanes(int64_t outer, int64_t size, int64_t inner) : outer(outer), size(size), inner(inner) {}
  int64_t outer = 1, size = 1, inner = 1;
  int64_t at(int64_t o, int64_t j, int64_t i) const { return (o * size + j) * inner + i; }
};

std::string to_string(const Extents& shape);  ///< `[2 3]`

}  // namespace shardproof::oracle
