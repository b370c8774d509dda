#pragma once
// Assigns rows to threads: a warp per short row, a block per long row.
#include "kernels/cuda/fused/team.h"

namespace shardproof::SHARDPROOF_MACHINE {

constexpr int row_threads = 256;

/// The row of a thread's team, if any, and the thread's part of it.
template <int team, int n>
struct Row {
  int64_t row, rows, length;
  int lane;

  SHARDPROOF_DEVICE Row(int thread, int64_t first, int64_t rows, int64_t length)
      : row(first + thread / team), rows(rows), length(length), lane(thread % team) {}

  SHARDPROOF_DEVICE bool first_lane() const { return lane == 0 && row < rows; }
  /// Calls body(entry of the row, entry of the array) for every n entries of the thread's part.
  template <class Body>
  SHARDPROOF_DEVICE void each(Body body) const {
    if (row >= rows) return;
    for (int64_t i = int64_t{lane} * n; i < length; i += team * n) body(i, row * length + i);
  }
};

/// Calls body(first row) for all rows of the block; each team takes one row at a time.
template <int team, class Body>
SHARDPROOF_DEVICE void each_rows(Block& block, int64_t rows, Body body) {
  constexpr int64_t teams = row_threads / team;
  for (int64_t first = block.index() * teams; first < rows; first += block.blocks() * teams)
    body(first);
}

}  // namespace shardproof::SHARDPROOF_MACHINE
