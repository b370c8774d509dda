// Products with matrices that ids choose, and sums of products that ids place. The entries are
// sorted by their matrix in the stream's scratch, and the matrices stay where they are.
#include <stdexcept>

#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/fused/tiles.h"
#include "kernels/cuda/ids.h"
#include "kernels/cuda/kernels.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

constexpr int grouped_threads = 128;
constexpr int grouped_side = 64;  ///< rows and columns of a tile of the result, 16 rows per warp

/// How many terms of a sum are in shared memory at once.
template <class E>
constexpr int grouped_depth = 128 / sizeof(E);
template <class E>
constexpr int grouped_entries = grouped_side* tile_stride<E>(grouped_depth<E>);

using TileSums = PerThread<Accumulator<grouped_side / 8>>;

int64_t tiles_of(int64_t extent) { return (extent + grouped_side - 1) / grouped_side; }

/// Sets entry (i, k) of a tile in shared memory to entry(i, k). `along_i`: adjacent threads take
/// adjacent i.
template <class E, class Entry>
SHARDPROOF_DEVICE void fill_tile(Block& block, E* tile, bool along_i, Entry entry) {
  constexpr int depth = grouped_depth<E>;
  block.each([&](int thread) {
    for (int at = thread; at < grouped_side * depth; at += grouped_threads) {
      const int i = along_i ? at % grouped_side : at / depth;
      const int k = along_i ? at / grouped_side : at % depth;
      tile[i * tile_stride<E>(depth) + k] = entry(i, k);
    }
  });
}

SHARDPROOF_DEVICE inline void clear_sums(Block& block, TileSums& sums) {
  block.each_alone([&](int thread) { clear(sums[thread]); });
}

/// Adds the products of the filled tiles; afterwards they may be filled again.
template <class E>
SHARDPROOF_DEVICE void add_products(Block& block, TileSums& sums, const E* left, const E* right) {
  TileProducts<E>::template times_transposed<grouped_depth<E>>(block, sums, left, right);
  block.each([](int) {});
}

/// Calls body(i, j, sum) for the entries of the tile.
template <class Body>
SHARDPROOF_DEVICE void each_sum(Block& block, TileSums& sums, Body body) {
  block.each_alone([&](int thread) {
    const int lane = thread % warp_threads, first = thread / warp_threads * 16;
    SHARDPROOF_UNROLL()
    for (int tile = 0; tile < grouped_side / 8; ++tile) {
      SHARDPROOF_UNROLL()
      for (int at = 0; at < 4; ++at)
        body(first + fragment::c_row(lane, at), tile * 8 + fragment::c_column(lane, at),
             sums[thread].at[tile][at]);
    }
  });
}

/// Some entries of an op, sorted by matrix.
struct SortedEntries {
  Loops<3> entries;
  SortedTerms sorted;
  int64_t first;
  uint32_t count, no_row;

  SHARDPROOF_DEVICE void find(int64_t i, int64_t* offsets) const {
    entries.find(first + sorted.terms[i], offsets);
  }
};

/// Calls `each` with up to most_sorted entries at a time.
template <class Each>
void for_each_sorted(const Stream& stream, const Nest& batch, size_t operand, const Ids& ids,
                     Each each) {
  if (!stream.scratch) throw std::logic_error("grouped products sort in the stream's scratch");
  const auto entries = loops_of<3>(batch);
  const auto terms = loops_of<2>({batch.extents, {batch.strides[operand], batch.strides[operand]}});
  for (int64_t first = 0; first < entries.count; first += most_sorted) {
    const auto count = static_cast<uint32_t>(std::min<int64_t>(most_sorted, entries.count - first));
    const TermIds chunk{ids, terms, 0, first, count};
    each(SortedEntries{entries, sorted_by_row(stream, chunk), first, count, chunk.no_row()});
  }
}

/// A block makes a tile of the rows of all entries, matrix by matrix: few tiles have two.
template <class C, class E>
struct GroupedProductKernel {
  SortedEntries of;  ///< c, a, ids
  int64_t m, n, k;
  MatrixStrides a_strides, b_strides, c_strides;
  int64_t matrix_stride;
  C* c;
  const E *a, *table;

  static constexpr size_t shared_bytes() {
    return 2 * grouped_entries<E> * sizeof(E) + 2 * grouped_side * sizeof(int64_t);
  }

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const int64_t across = (n + grouped_side - 1) / grouped_side;
    const int64_t all = (of.count * m + grouped_side - 1) / grouped_side * across;
    for (int64_t i = block.index(); i < all; i += block.blocks())
      tile(block, i / across * grouped_side, i % across * grouped_side);
  }

  SHARDPROOF_DEVICE void tile(Block& block, int64_t first, int64_t column) const {
    auto* left = block.shared<E>();
    E* right = left + grouped_entries<E>;
    auto* a_at = reinterpret_cast<int64_t*>(right + grouped_entries<E>);
    int64_t* c_at = a_at + grouped_side;
    const int64_t rows = of.count * m,
                  end = first + grouped_side < rows ? first + grouped_side : rows;
    block.each([&](int thread) {
      if (first + thread >= end || thread >= grouped_side) return;
      int64_t at[3];
      of.find((first + thread) / m, at);
      const int64_t row = (first + thread) % m;
      c_at[thread] = at[0] + row * c_strides.row;
      a_at[thread] = at[1] + row * a_strides.row;
    });
    for (int64_t begin = first; begin < end;) {
      const uint32_t matrix = of.sorted.rows[begin / m];
      int64_t next = begin;
      while (next < end && of.sorted.rows[next / m] == matrix) ++next;
      const auto has = [&](int row) { return first + row >= begin && first + row < next; };
      TileSums sums;
      clear_sums(block, sums);
      const E* const b = table + matrix * matrix_stride;
      for (int64_t p = 0; p < k && matrix != of.no_row; p += grouped_depth<E>) {
        fill_tile(block, left, a_strides.column != 1, [&](int row, int q) {
          return has(row) && p + q < k ? a[a_at[row] + (p + q) * a_strides.column] : E{};
        });
        fill_tile(block, right, b_strides.column == 1, [&](int j, int q) {
          return column + j < n && p + q < k
                     ? b[(p + q) * b_strides.row + (column + j) * b_strides.column]
                     : E{};
        });
        add_products(block, sums, left, right);
      }
      each_sum(block, sums, [&](int row, int j, float sum) {
        if (has(row) && column + j < n)
          c[c_at[row] + (column + j) * c_strides.column] = narrow<C>(sum);
      });
      begin = next;
    }
    block.each([](int) {});  // the next tile writes the offsets
  }
};

/// A block adds to a tile of one matrix of the sums.
template <class E>
struct GroupedSumKernel {
  SortedEntries of;  ///< ids, a, b
  int64_t m, n, matrices;
  int64_t a_stride, b_stride;
  MatrixStrides c_strides;
  int64_t matrix_stride;
  float* sums;
  const E *a, *b;

  static constexpr size_t shared_bytes() {
    return 2 * grouped_entries<E> * sizeof(E) + 2 * grouped_depth<E> * sizeof(int64_t);
  }

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const int64_t down = (m + grouped_side - 1) / grouped_side,
                  across = (n + grouped_side - 1) / grouped_side;
    for (int64_t i = block.index(); i < matrices * down * across; i += block.blocks())
      tile(block, static_cast<uint32_t>(i / across / down), i / across % down * grouped_side,
           i % across * grouped_side);
  }

  /// The first of the entries whose matrix is this one or a later one.
  SHARDPROOF_DEVICE uint32_t first_of(uint32_t matrix) const {
    uint32_t low = 0, high = of.count;
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      if (of.sorted.rows[middle] < matrix)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  SHARDPROOF_DEVICE void tile(Block& block, uint32_t matrix, int64_t row, int64_t column) const {
    constexpr int depth = grouped_depth<E>;
    const uint32_t begin = first_of(matrix), end = first_of(matrix + 1);
    if (begin == end) return;
    auto* left = block.shared<E>();
    E* right = left + grouped_entries<E>;
    auto* a_at = reinterpret_cast<int64_t*>(right + grouped_entries<E>);
    int64_t* b_at = a_at + depth;
    TileSums own;
    clear_sums(block, own);
    for (int64_t e = begin; e < end; e += depth) {
      block.each([&](int thread) {
        if (thread >= depth || e + thread >= end) return;
        int64_t at[3];
        of.find(e + thread, at);
        a_at[thread] = at[1];
        b_at[thread] = at[2];
      });
      fill_tile(block, left, a_stride == 1, [&](int i, int q) {
        return row + i < m && e + q < end ? a[a_at[q] + (row + i) * a_stride] : E{};
      });
      fill_tile(block, right, b_stride == 1, [&](int j, int q) {
        return column + j < n && e + q < end ? b[b_at[q] + (column + j) * b_stride] : E{};
      });
      add_products(block, own, left, right);
    }
    float* const to = sums + matrix * matrix_stride;
    each_sum(block, own, [&](int i, int j, float sum) {
      if (row + i < m && column + j < n)
        to[(row + i) * c_strides.row + (column + j) * c_strides.column] += sum;
    });
  }
};

template <class C, class E>
void multiply_grouped(const Stream& stream, const GroupedProduct& op, Outputs outputs,
                      Inputs inputs) {
  const Matmul& product = op.product;
  const Ids ids{inputs[2], op.ids, op.window, report_to(stream)};
  for_each_sorted(stream, product.batch, 2, ids, [&](const SortedEntries& entries) {
    using Kernel = GroupedProductKernel<C, E>;
    launch<grouped_threads>(
        stream, blocks_for(tiles_of(entries.count * product.m) * tiles_of(product.n), 1),
        Kernel{entries, product.m, product.n, product.k, product.a, product.b, product.c,
               op.window.stride, static_cast<C*>(outputs[0]), static_cast<const E*>(inputs[0]),
               static_cast<const E*>(inputs[1])},
        Kernel::shared_bytes());
  });
}

template <class E>
void add_grouped(const Stream& stream, const GroupedSum& op, Outputs outputs, Inputs inputs) {
  const Matmul& product = op.product;
  const Ids ids{inputs[0], op.ids, op.window, report_to(stream)};
  run(stream, Zero{static_cast<size_t>(op.count) * sizeof(float)}, outputs[0], nullptr);
  for_each_sorted(stream, product.batch, 0, ids, [&](const SortedEntries& entries) {
    using Kernel = GroupedSumKernel<E>;
    launch<grouped_threads>(
        stream, blocks_for(op.window.extent * tiles_of(product.m) * tiles_of(product.n), 1),
        Kernel{entries, product.m, product.n, op.window.extent, product.a.row, product.b.column,
               product.c, op.window.stride, static_cast<float*>(outputs[0]),
               static_cast<const E*>(inputs[1]), static_cast<const E*>(inputs[2])},
        Kernel::shared_bytes());
  });
}

}  // namespace

void run(const Stream& stream, const GroupedProduct& op, Outputs outputs, Inputs inputs) {
  const auto [c, a, table] = op.product.elements;
  if (a == Element::f32)
    multiply_grouped<float, float>(stream, op, outputs, inputs);
  else if (c == Element::f32)
    multiply_grouped<float, Bfloat16>(stream, op, outputs, inputs);
  else
    multiply_grouped<Bfloat16, Bfloat16>(stream, op, outputs, inputs);
}

void run(const Stream& stream, const GroupedSum& op, Outputs outputs, Inputs inputs) {
  if (op.product.elements[1] == Element::f32)
    add_grouped<float>(stream, op, outputs, inputs);
  else
    add_grouped<Bfloat16>(stream, op, outputs, inputs);
}

}  // namespace shardproof::SHARDPROOF_MACHINE
