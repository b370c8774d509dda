#include "kernels/cuda/entry.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loops.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

struct Lines {
  Loops<2> loops;  ///< out, x
  const void* x;
  void* out;
  Element element;
  int64_t entries, x_stride, to_stride;
};

constexpr int scanned_per_thread = 4;

/// One block per line, tile by tile: each thread sums a few entries and adds the sum of the threads
/// before it.
struct CumsumKernel {
  Lines lines;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    for (int64_t line = block.index(); line < lines.loops.count; line += block.blocks()) {
      int64_t at[2];
      lines.loops.find(line, at);
      PerThread<double> carry;
      block.each_alone([&](int thread) { carry[thread] = 0; });
      const int64_t tile = int64_t{scanned_per_thread} * block.threads();
      for (int64_t begin = 0; begin < lines.entries; begin += tile) scan(block, at, begin, carry);
    }
  }

  SHARDPROOF_DEVICE void scan(Block& block, const int64_t (&at)[2], int64_t begin,
                              PerThread<double>& carry) const {
    double *sums = block.shared<double>(), *next = sums + block.threads();
    block.each([&](int thread) {
      double sum = 0;
      visit(begin, thread, [&](int64_t i) { sum += entry(at[1], i); });
      sums[thread] = sum;
    });
    for (int step = 1; step < block.threads(); step *= 2) {
      block.each([&](int thread) {
        next[thread] = thread < step ? sums[thread] : sums[thread - step] + sums[thread];
      });
      double* const swapped = sums;
      sums = next;
      next = swapped;
    }
    block.each([&](int thread) {
      double sum = thread == 0 ? carry[thread] : carry[thread] + sums[thread - 1];
      visit(begin, thread, [&](int64_t i) {
        sum += entry(at[1], i);
        store_number(lines.element, lines.out, at[0] + i * lines.to_stride, sum);
      });
      carry[thread] += sums[block.threads() - 1];
    });
  }

  /// Calls body(i) for the thread's entries of the tile.
  template <class Body>
  SHARDPROOF_DEVICE void visit(int64_t begin, int thread, Body body) const {
    const int64_t first = begin + int64_t{thread} * scanned_per_thread;
    for (int64_t i = first; i < first + scanned_per_thread && i < lines.entries; ++i) body(i);
  }
  SHARDPROOF_DEVICE double entry(int64_t at, int64_t i) const {
    return load_number(lines.element, lines.x, at + i * lines.x_stride);
  }
};

/// An entry and its position in the line. Positions beyond the line sort last.
struct Placed {
  double value;
  int64_t place;
};

enum class Written : uint8_t { places, values };

/// Which entries a sort keeps, and its order.
struct Sorting {
  bool descending = false;
  Written written = Written::places;
  int64_t count = 0;  ///< number of entries to keep

  /// A total order: NaN is the largest; ties by position.
  SHARDPROOF_HD bool before(const Placed& a, const Placed& b, int64_t entries) const {
    if (a.place >= entries || b.place >= entries) return a.place < b.place;
    if (a.value != a.value || b.value != b.value) {
      const bool both = a.value != a.value && b.value != b.value;
      return both ? a.place < b.place : (a.value == a.value) != descending;
    }
    if (a.value != b.value) return descending ? a.value > b.value : a.value < b.value;
    return a.place < b.place;
  }
  SHARDPROOF_HD void write(const Lines& lines, int64_t to, int64_t i, const Placed& what) const {
    if (written == Written::places)
      static_cast<int32_t*>(lines.out)[to + i * lines.to_stride] = static_cast<int32_t>(what.place);
    else
      store_number(lines.element, lines.out, to + i * lines.to_stride, what.value);
  }
};

/// Bitonic sort: one block per line, which is in shared memory as values and positions.
struct SortKernel {
  Lines lines;
  Sorting sorting;
  int padded;  ///< a power of 2, at least the entries

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    for (int64_t line = block.index(); line < lines.loops.count; line += block.blocks()) {
      int64_t at[2];
      lines.loops.find(line, at);
      double* values = block.shared<double>();
      int32_t* places = reinterpret_cast<int32_t*>(values + padded);
      block.each([&](int thread) {
        for (int i = thread; i < padded; i += block.threads()) {
          places[i] = i;
          values[i] = i < lines.entries
                          ? load_number(lines.element, lines.x, at[1] + i * lines.x_stride)
                          : 0;
        }
      });
      for (int size = 2; size <= padded; size *= 2)
        for (int gap = size / 2; gap > 0; gap /= 2) merge(block, values, places, size, gap);
      block.each([&](int thread) {
        for (int64_t i = thread; i < sorting.count; i += block.threads())
          sorting.write(lines, at[0], i, {values[i], places[i]});
      });
    }
  }

  /// Compares and swaps entries that are `gap` apart; the direction alternates every `size`
  /// entries.
  SHARDPROOF_DEVICE void merge(Block& block, double* values, int32_t* places, int size,
                               int gap) const {
    block.each([&](int thread) {
      for (int pair = thread; pair < padded / 2; pair += block.threads()) {
        const int i = pair / gap * gap * 2 + pair % gap, j = i + gap;
        const Placed a{values[i], places[i]}, b{values[j], places[j]};
        const bool forward = (i & size) == 0;
        if (sorting.before(b, a, lines.entries) != forward) continue;
        values[i] = b.value;
        places[i] = static_cast<int32_t>(b.place);
        values[j] = a.value;
        places[j] = static_cast<int32_t>(a.place);
      }
    });
  }
};

/// For lines that exceed shared memory: the rank of an entry is the number of entries before it.
struct RankKernel {
  Lines lines;
  Sorting sorting;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    each_of(block, lines.loops.count * lines.entries, [&](int64_t i) {
      int64_t at[2];
      lines.loops.find(i / lines.entries, at);
      const Placed mine = entry(at[1], i % lines.entries);
      int64_t rank = 0;
      for (int64_t other = 0; other < lines.entries; ++other)
        rank += sorting.before(entry(at[1], other), mine, lines.entries);
      if (rank < sorting.count) sorting.write(lines, at[0], rank, mine);
    });
  }
  SHARDPROOF_DEVICE Placed entry(int64_t at, int64_t place) const {
    return {load_number(lines.element, lines.x, at + place * lines.x_stride), place};
  }
};

/// Needs 96 KiB of shared memory, which every GPU from sm_80 has.
constexpr int64_t longest_sorted = 8192;

void sort(const Stream& stream, const Lines& lines, const Sorting& sorting) {
  if (lines.entries > longest_sorted)
    return launch_each(stream, lines.loops.count * lines.entries, RankKernel{lines, sorting});
  int padded = 1;
  while (padded < lines.entries) padded *= 2;
  const SortKernel kernel{lines, sorting, padded};
  const int64_t blocks = blocks_for(lines.loops.count, 1);
  const size_t bytes = static_cast<size_t>(padded) * (sizeof(double) + sizeof(int32_t));
  if (padded <= 64) return launch<32>(stream, blocks, kernel, bytes);
  if (padded <= 512) return launch<128>(stream, blocks, kernel, bytes);
  launch<512>(stream, blocks, kernel, bytes);
}

}  // namespace

void run(const Stream& stream, const Ordered& op, void* out, const void* const* inputs) {
  const Lines lines{loops_of<2>(op.lines), inputs[0],   out, op.element, op.entries,
                    op.x_stride,           op.to_stride};
  if (lines.loops.count == 0 || lines.entries == 0) return;
  switch (op.fn) {
    case OrderedFn::cumsum:
      return launch<usual_threads>(stream, blocks_for(lines.loops.count, 1), CumsumKernel{lines},
                                   2 * usual_threads * sizeof(double));
    case OrderedFn::argsort:
      return sort(stream, lines, {false, Written::places, op.entries});
    case OrderedFn::largest:
      return sort(stream, lines, {true, Written::values, op.k});
    case OrderedFn::largest_at:
      return sort(stream, lines, {true, Written::places, op.k});
  }
}

}  // namespace shardproof::SHARDPROOF_MACHINE
