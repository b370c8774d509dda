#pragma once
// Ids that name rows; sorts terms by row.
#include <algorithm>

#include "kernels/cuda/entry.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loops.h"
#include "kernels/cuda/report.h"
#include "kernels/ops.h"

namespace shardproof::SHARDPROOF_MACHINE {

struct Ids {
  const void* data;
  Element element;
  IndexWindow window;
  Report report;

  SHARDPROOF_DEVICE int64_t id(int64_t at) const { return load_integer(element, data, at); }
  /// The local row of the id; -1 if it belongs to another rank or does not exist, which is a fault.
  SHARDPROOF_DEVICE int64_t row_of(int64_t id) const {
    const int64_t row = id - window.first;
    if (row >= 0 && row < window.extent) return row;
    if (!window.partial) report.leave(Fault::index, id, window.extent);
    return -1;
  }
};

/// Terms whose ids start at `at`, with the strides of `terms`.
struct TermIds {
  Ids ids;
  Loops<2> terms;  ///< ids, and another operand
  int64_t at, first;
  uint32_t count;

  SHARDPROOF_HD uint32_t no_row() const { return static_cast<uint32_t>(ids.window.extent); }
  /// Its row; no_row(), which is after all rows, if this rank does not have it.
  SHARDPROOF_DEVICE uint32_t row(uint32_t term) const {
    const int64_t row = ids.row_of(ids.id(at + terms.first_at(first + term)));
    return row < 0 ? no_row() : static_cast<uint32_t>(row);
  }
};

// --- a stable radix sort, 8 bits per pass: O(terms) work per pass ---

constexpr int sort_digits = 256, sort_threads = sort_digits;
constexpr uint32_t sort_tile = 1024;
constexpr uint32_t most_sorted = 1 << 16;  ///< capacity of a stream's scratch, in terms

/// The terms 0 .. count - 1 sorted by row; stable.
struct SortedTerms {
  uint32_t *terms, *rows;
};

/// One pass: stores the terms of `from` in `to`, sorted by one digit of their rows.
struct SortPass {
  TermIds ids;
  const uint32_t* from;  ///< null: the original order
  uint32_t* to;
  uint32_t* rows;    ///< written in the last pass, else null
  uint32_t* counts;  ///< by digit and tile: counts, then start offsets
  uint32_t tiles;
  int shift;

  struct Tile {
    uint32_t *terms, *rows;
    uint32_t count;
  };

  /// Loads the block's tile into shared memory.
  SHARDPROOF_DEVICE Tile load(Block& block) const {
    const auto begin = static_cast<uint32_t>(block.index()) * sort_tile;
    uint32_t* const memory = block.shared<uint32_t>();
    const Tile tile{memory, memory + sort_tile,
                    ids.count - begin < sort_tile ? ids.count - begin : sort_tile};
    block.each([&](int thread) {
      for (uint32_t i = thread; i < tile.count; i += sort_threads) {
        tile.terms[i] = from ? from[begin + i] : begin + i;
        tile.rows[i] = ids.row(tile.terms[i]);
      }
    });
    return tile;
  }
  /// Calls body(i) for the entries of the tile with the thread's digit, in order.
  template <class Body>
  SHARDPROOF_DEVICE void each_of_digit(const Tile& tile, int digit, Body body) const {
    for (uint32_t i = 0; i < tile.count; ++i)
      if (static_cast<int>(tile.rows[i] >> shift & (sort_digits - 1)) == digit) body(i);
  }
  SHARDPROOF_DEVICE uint32_t& count_of(Block& block, int digit) const {
    return counts[static_cast<uint32_t>(digit) * tiles + static_cast<uint32_t>(block.index())];
  }
};

constexpr size_t sort_tile_bytes = 2 * sort_tile * sizeof(uint32_t);

struct CountDigits {
  SortPass pass;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const SortPass::Tile tile = pass.load(block);
    block.each_alone([&](int digit) {
      uint32_t count = 0;
      pass.each_of_digit(tile, digit, [&](uint32_t) { ++count; });
      pass.count_of(block, digit) = count;
    });
  }
};

/// One block: turns counts into start offsets (exclusive scan).
struct PlaceDigits {
  uint32_t* counts;
  uint32_t tiles;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    uint32_t *sums = block.shared<uint32_t>(), *next = sums + sort_threads;
    block.each([&](int digit) {
      uint32_t sum = 0;
      for (uint32_t tile = 0; tile < tiles; ++tile) sum += counts[of(digit) + tile];
      sums[digit] = sum;
    });
    for (int step = 1; step < sort_threads; step *= 2) {
      block.each(
          [&](int digit) { next[digit] = sums[digit] + (digit < step ? 0 : sums[digit - step]); });
      uint32_t* const swapped = sums;
      sums = next;
      next = swapped;
    }
    block.each_alone([&](int digit) {
      uint32_t at = digit == 0 ? 0 : sums[digit - 1];
      for (uint32_t tile = 0; tile < tiles; ++tile) {
        const uint32_t count = counts[of(digit) + tile];
        counts[of(digit) + tile] = at;
        at += count;
      }
    });
  }
  SHARDPROOF_DEVICE uint32_t of(int digit) const { return static_cast<uint32_t>(digit) * tiles; }
};

struct MoveDigits {
  SortPass pass;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const SortPass::Tile tile = pass.load(block);
    block.each_alone([&](int digit) {
      uint32_t to = pass.count_of(block, digit);
      pass.each_of_digit(tile, digit, [&](uint32_t i) {
        pass.to[to] = tile.terms[i];
        if (pass.rows) pass.rows[to] = tile.rows[i];
        ++to;
      });
    });
  }
};

/// Sorts in the stream's scratch; valid until its next use. At most most_sorted terms.
inline SortedTerms sorted_by_row(const Stream& stream, const TermIds& ids) {
  auto* const first = static_cast<uint32_t*>(stream.scratch);
  uint32_t* const second = first + most_sorted;
  uint32_t* const rows = second + most_sorted;
  uint32_t* const counts = rows + most_sorted;
  static_assert((3 * most_sorted + most_sorted / sort_tile * sort_digits) * sizeof(uint32_t) <=
                scratch_bytes);
  SortPass pass{ids, nullptr, first, nullptr, counts, (ids.count + sort_tile - 1) / sort_tile, 0};
  for (; !pass.rows; pass.shift += 8) {
    const bool last = ids.no_row() >> pass.shift < uint32_t{sort_digits};
    if (last) pass.rows = rows;
    launch<sort_threads>(stream, pass.tiles, CountDigits{pass}, sort_tile_bytes);
    launch<sort_threads>(stream, 1, PlaceDigits{counts, pass.tiles},
                         2 * sort_threads * sizeof(uint32_t));
    launch<sort_threads>(stream, pass.tiles, MoveDigits{pass}, sort_tile_bytes);
    pass.from = pass.to;
    pass.to = pass.from == first ? second : first;
  }
  return {const_cast<uint32_t*>(pass.from), rows};
}

}  // namespace shardproof::SHARDPROOF_MACHINE
