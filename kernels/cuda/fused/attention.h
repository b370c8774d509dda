#pragma once
// Shared by the attention kernels: the layout of operands, tile loads into shared memory, and
// logits. A row is a query: (position, group), group innermost, so that queries with the same key
// are contiguous.
#include "kernels/cuda/fused/team.h"
#include "kernels/cuda/fused/tiles.h"
#include "kernels/cuda/launch.h"
#include "kernels/fused.h"

namespace shardproof::SHARDPROOF_MACHINE {

constexpr int attention_threads = 128;
constexpr int block_rows = 64;  ///< 16 per warp
constexpr float masked_logit = -1e10f;

/// The state of a tile of the mask. A tile that is `none` is skipped. If a row has no allowed key
/// at all, every tile of its rows is at least `some`.
enum TileState : uint8_t { none, some, all };

/// 2^x for x <= 0.
SHARDPROOF_DEVICE inline float power_of_2(float x) {
#ifdef SHARDPROOF_ON_GPU
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

/// exp(x - m), which is 0 for x = -infinity.
SHARDPROOF_DEVICE inline float weight(float x, float m) {
  return power_of_2((x - m) * 1.4426950408889634f);
}

struct BatchIndex {
  int64_t at[3];

  SHARDPROOF_HD BatchIndex(int64_t index, const int64_t (&batch)[3]) {
    at[2] = index % batch[2];
    at[1] = index / batch[2] % batch[1];
    at[0] = index / batch[2] / batch[1];
  }
  SHARDPROOF_HD int64_t offset(const int64_t (&strides)[3]) const {
    return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2];
  }
};

/// The vectors of one operand for one batch entry.
template <class E>
struct Vectors {
  E* from;
  int64_t position_stride, group_stride;
  int group, count;  ///< rows

  SHARDPROOF_DEVICE Vectors(E* array, const HeadStrides& strides, const BatchIndex& batch,
                            int group, int count)
      : from(array + batch.offset(strides.batch)),
        position_stride(strides.position),
        group_stride(strides.group),
        group(group),
        count(count) {}
  SHARDPROOF_DEVICE E* at(int row) const {
    return from + row / group * position_stride + row % group * group_stride;
  }
};

/// The arguments that all kernels of an op share.
template <class E>
struct AttentionProblem {
  AttentionShape shape;
  const E *q, *k, *v;
  const uint8_t* mask;
  const uint8_t* states;
  Given scale;
  bool wide;  ///< all operands and results allow 16-byte accesses
  int rows, keys, group, width, row_tiles, key_tiles;

  SHARDPROOF_DEVICE Vectors<const E> queries(const E* array, const HeadStrides& strides,
                                             const BatchIndex& batch) const {
    return {array, strides, batch, group, rows};
  }
  SHARDPROOF_DEVICE Vectors<const E> per_key(const E* array, const HeadStrides& strides,
                                             const BatchIndex& batch) const {
    return {array, strides, batch, 1, keys};
  }
  SHARDPROOF_DEVICE const uint8_t* states_of(const BatchIndex& batch) const {
    int64_t index = 0;
    for (int d = 0; d < 3; ++d)
      if (shape.mask.batch[d] != 0) index = index * shape.batch[d] + batch.at[d];
    return states + index * row_tiles * key_tiles;
  }
  /// The mask of a row; rows beyond the last use the last one's.
  SHARDPROOF_DEVICE const uint8_t* mask_row(const BatchIndex& batch, int row) const {
    const int own = row < rows ? row : rows - 1;
    return mask + batch.offset(shape.mask.batch) + own / group * shape.mask.query +
           own % group * shape.mask.group;
  }
  SHARDPROOF_DEVICE bool allowed(const uint8_t* row, int key) const {
    return row[key * shape.mask.key] != 0;
  }
};

/// Loads rows first .. first + n - 1 into shared memory, with zeros beyond the last row or the
/// width. No barrier.
template <int width, int n, class E>
SHARDPROOF_DEVICE void load_tile(Block& block, E* to, const Vectors<const E>& vectors, int first,
                                 int own_width, bool wide) {
  constexpr int per = widest_access / sizeof(E), parts = width / per;
  block.each_alone([&](int thread) {
    for (int i = thread; i < n * parts; i += attention_threads) {
      const int row = i / parts, column = i % parts * per;
      Entries<E, per> entries{};
      if (first + row < vectors.count && column < own_width) {
        const E* from = vectors.at(first + row) + column;
        if (wide)
          entries = *reinterpret_cast<const Entries<E, per>*>(from);
        else
          for (int k = 0; k < per && column + k < own_width; ++k) entries.at[k] = from[k];
      }
      *reinterpret_cast<Entries<E, per>*>(to + row * tile_stride<E>(width) + column) = entries;
    }
  });
}

/// Multiplies the sums of each row by factors[row of the thread], rounds them, and stores them in
/// rows first .. and columns from .. of the array. `wide`: stores adjacent entries together.
template <int tiles, class E>
SHARDPROOF_DEVICE void store_tile(Block& block, PerThread<Accumulator<tiles>>& sums,
                                  const PerThread<Floats<2>>& factors, const Vectors<E>& to,
                                  int first, int from, int own_width, bool wide) {
  block.each_alone([&](int thread) {
    const int lane = thread % warp_threads;
    SHARDPROOF_UNROLL()
    for (int half = 0; half < 2; ++half) {
      const int row = first + thread / warp_threads * 16 + fragment::c_row(lane, 2 * half);
      if (row >= to.count) continue;
      E* at = to.at(row) + from;
      SHARDPROOF_UNROLL()
      for (int tile = 0; tile < tiles; ++tile) {
        const int column = tile * 8 + fragment::c_column(lane, 0);
        Floats<2> both;
        for (int i = 0; i < 2; ++i)
          both.at[i] = sums[thread].at[tile][2 * half + i] * factors[thread].at[half];
        if (wide && from + column < own_width)
          store(at + column, both);
        else
          for (int i = 0; i < 2; ++i)
            if (from + column + i < own_width) at[column + i] = narrow<E>(both.at[i]);
      }
    }
  });
}

/// Turns products of queries first_row .. and keys first_key .. into logits: scales and masks them;
/// -infinity beyond the last key.
template <int tiles, class E>
SHARDPROOF_DEVICE void mask_logits(Block& block, const AttentionProblem<E>& problem,
                                   const BatchIndex& batch, PerThread<Accumulator<tiles>>& logits,
                                   int first_row, int first_key, bool masked) {
  const float scale = problem.scale.get();
  block.each_alone([&](int thread) {
    const int lane = thread % warp_threads;
    SHARDPROOF_UNROLL()
    for (int entry = 0; entry < 4; ++entry) {
      const int row = first_row + thread / warp_threads * 16 + fragment::c_row(lane, entry);
      const uint8_t* mask = masked ? problem.mask_row(batch, row) : nullptr;
      SHARDPROOF_UNROLL()
      for (int i = 0; i < tiles; ++i) {
        const int key = first_key + i * 8 + fragment::c_column(lane, entry);
        float& x = logits[thread].at[i][entry];
        x *= scale;
        if (key >= problem.keys)
          x = -INFINITY;
        else if (masked && !problem.allowed(mask, key))
          x = masked_logit;
      }
    }
  });
}

/// Updates the largest logit of each of a thread's rows.
template <int tiles>
SHARDPROOF_DEVICE void largest_of(Block& block, const PerThread<Accumulator<tiles>>& logits,
                                  PerThread<Floats<2>>& largest) {
  block.each_alone([&](int thread) {
    SHARDPROOF_UNROLL()
    for (int entry = 0; entry < 4; ++entry) {
      SHARDPROOF_UNROLL()
      for (int i = 0; i < tiles; ++i) {
        float& most = largest[thread].at[entry / 2];
        most = fmaxf(most, logits[thread].at[i][entry]);
      }
    }
  });
  join_lanes<4>(block, largest, Larger{});
}

/// Barrier: afterwards threads may read what others wrote to shared memory, and overwrite what
/// others read.
SHARDPROOF_DEVICE inline void meet(Block& block) {
  block.each([](int) {});
}

template <class E>
AttentionProblem<E> problem_of(const AttentionShape& shape, const void* const* operands,
                               const void* states, Given scale, bool wide) {
  return {shape,
          static_cast<const E*>(operands[0]),
          static_cast<const E*>(operands[1]),
          static_cast<const E*>(operands[2]),
          static_cast<const uint8_t*>(operands[3]),
          static_cast<const uint8_t*>(states),
          scale,
          wide,
          static_cast<int>(shape.rows()),
          static_cast<int>(shape.keys),
          static_cast<int>(shape.group),
          static_cast<int>(shape.width),
          static_cast<int>(shape.row_tiles()),
          static_cast<int>(shape.key_tiles())};
}

/// Whether all vectors start at multiples of 16 bytes and have such a length.
bool wide_vectors(const AttentionShape& shape, std::initializer_list<const HeadStrides*> strides,
                  std::initializer_list<const void*> arrays);
/// mask_tiles.cu: computes the states of the mask's tiles.
void summarize_mask(const Stream& stream, const AttentionShape& shape, const void* mask,
                    void* states);

}  // namespace shardproof::SHARDPROOF_MACHINE
