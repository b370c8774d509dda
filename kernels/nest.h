#pragma once
// Loop nests over strided memory: the form of all CPU kernels.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardproof {

/// Loops, the last innermost. strides[k][d]: the stride of operand k in loop d, in entries.
struct Nest {
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> strides;

  /// The number of iterations; 1 without loops.
  int64_t count() const {
    int64_t product = 1;
    for (int64_t extent : extents) product *= extent;
    return product;
  }
  /// The extent of the innermost loop, and its stride; 1 and 0 without loops.
  int64_t inner() const { return extents.empty() ? 1 : extents.back(); }
  int64_t inner_stride(size_t k) const { return extents.empty() ? 0 : strides[k].back(); }
};

/// The same loops without those of one iteration, and with adjacent loops merged if every operand
/// allows it.
inline Nest coalesced(Nest nest) {
  size_t kept = 0;
  for (size_t d = 0; d < nest.extents.size(); ++d) {
    const int64_t extent = nest.extents[d];
    if (extent == 1) continue;
    const bool joins = kept > 0 && std::all_of(nest.strides.begin(), nest.strides.end(),
                                               [&](const std::vector<int64_t>& strides) {
                                                 return strides[kept - 1] == strides[d] * extent;
                                               });
    if (joins)
      nest.extents[kept - 1] *= extent;
    else
      nest.extents[kept++] = extent;
    for (std::vector<int64_t>& strides : nest.strides) strides[kept - 1] = strides[d];
  }
  nest.extents.resize(kept);
  for (std::vector<int64_t>& strides : nest.strides) strides.resize(kept);
  return nest;
}

/// Calls row(offsets) for every index of all loops but the innermost, in order; offsets[k] is the
/// offset of operand k. Does nothing if a loop has no iterations.
template <class Row>
void for_each_row(const Nest& nest, Row row) {
  std::vector<int64_t> offsets(nest.strides.size(), 0);
  if (nest.count() == 0) return;
  const size_t outer = nest.extents.empty() ? 0 : nest.extents.size() - 1;
  std::vector<int64_t> index(outer, 0);
  while (true) {
    row(static_cast<const int64_t*>(offsets.data()));
    size_t d = outer;
    while (d > 0 && index[d - 1] + 1 == nest.extents[d - 1]) {
      --d;
      for (size_t k = 0; k < offsets.size(); ++k) offsets[k] -= nest.strides[k][d] * index[d];
      index[d] = 0;
    }
    if (d == 0) return;
    ++index[d - 1];
    for (size_t k = 0; k < offsets.size(); ++k) offsets[k] += nest.strides[k][d - 1];
  }
}

}  // namespace shardproof
