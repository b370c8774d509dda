#pragma once
// Ops along one whole dim that depend on the order of its entries. Ties: the lowest index first.
#include "kernels/element.h"
#include "kernels/nest.h"

namespace shardproof::cpu {

/// One line per index of `lines` (operand 0: the result, 1: x); along the line, strides and extents
/// of their own.
struct Lines {
  Nest lines;
  int64_t entries = 0;  ///< of x's lines
  int64_t x_stride = 0, to_stride = 0;
};

/// Running sums.
void cumsum(const Lines& op, Element element, void* to, const void* x);
/// i32 positions in ascending order of the entries.
void argsort(const Lines& op, Element element, void* to, const void* x);
/// The `k` largest entries, descending: their values (as x's), or their i32 positions.
void largest(const Lines& op, int64_t k, bool positions, Element element, void* to, const void* x);

}  // namespace shardproof::cpu
