// The gradients of attention, tile by tile, with recomputed probabilities. Order: per row the
// log-sum-exp, and delta = sum over keys of p g_p; then g_q by rows; then g_k and g_v by keys. One
// warp computes each sum, in a fixed order.
#include "kernels/cuda/fused/attention.h"
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/fused/rows.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

template <class E>
struct GradProblem {
  AttentionProblem<E> of;
  const E* g;
  HeadStrides g_strides;
  float* stats;  ///< (largest, sum) of each row
  float* deltas;

  SHARDPROOF_DEVICE int64_t row(int64_t index, int row) const {
    return index * of.rows + (row < of.rows ? row : of.rows - 1);
  }
};

/// Two operands with 64 resident rows, and two that are loaded `tile` rows at a time.
template <class E, int width, int tile>
struct FourTiles {
  static constexpr int stays = block_rows * tile_stride<E>(width);
  static constexpr int comes = tile * tile_stride<E>(width);
  E *left, *right, *first, *second;
  void* staging;

  SHARDPROOF_DEVICE explicit FourTiles(Block& block)
      : left(block.shared<E>()),
        right(left + stays),
        first(right + stays),
        second(first + comes),
        staging(second + comes) {}
  static constexpr size_t bytes() {
    return 2 * (stays + comes) * sizeof(E) + TileProducts<E>::staging_bytes(block_rows, tile);
  }
};

/// The gradient of a logit, from the logit, its probability, that one's gradient, and the row's
/// delta.
SHARDPROOF_DEVICE inline float logit_grad(float logit, float p, float g_p, float delta,
                                          float scale) {
  return logit == masked_logit ? 0.0f : p * (g_p - delta) * scale;
}

/// Log-sum-exps, computed as in the forward pass, and deltas.
template <class E, int width>
struct StatsKernel {
  GradProblem<E> problem;

  static constexpr int tile = width > 128 ? 32 : 64;
  using Tiles = FourTiles<E, width, tile>;
  using Block8 = PerThread<Accumulator<tile / 8>>;
  struct Rows {
    Floats<2> largest, sum, dot;
  };

  SHARDPROOF_DEVICE void add(Block& block, PerThread<Rows>& rows, const Block8& logits,
                             const Block8& g_p, const PerThread<Floats<2>>& largest) const {
    block.each_alone([&](int thread) {
      Rows& own = rows[thread];
      SHARDPROOF_UNROLL()
      for (int i = 0; i < 2; ++i) {
        const float by = weight(own.largest.at[i], largest[thread].at[i]);
        own.largest.at[i] = largest[thread].at[i];
        own.sum.at[i] *= by;
        own.dot.at[i] *= by;
      }
      SHARDPROOF_UNROLL()
      for (int entry = 0; entry < 4; ++entry) {
        SHARDPROOF_UNROLL()
        for (int i = 0; i < tile / 8; ++i) {
          const float e = weight(logits[thread].at[i][entry], largest[thread].at[entry / 2]);
          own.sum.at[entry / 2] += e;
          own.dot.at[entry / 2] += e * g_p[thread].at[i][entry];
        }
      }
    });
  }

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const AttentionProblem<E>& of = problem.of;
    const int64_t batches = of.shape.batches(), index = block.index() % batches;
    const int row_tile = of.row_tiles - 1 - static_cast<int>(block.index() / batches);
    const int first_row = row_tile * block_rows;
    const BatchIndex batch(index, of.shape.batch);
    const uint8_t* states = of.states_of(batch) + row_tile * of.key_tiles;
    const Tiles tiles(block);
    PerThread<Rows> rows;
    block.each_alone([&](int thread) {
      rows[thread] = {{{-INFINITY, -INFINITY}}, {{0, 0}}, {{0, 0}}};
    });
    load_tile<width, block_rows>(block, tiles.left, of.queries(of.q, of.shape.q, batch), first_row,
                                 of.width, of.wide);
    load_tile<width, block_rows>(block, tiles.right,
                                 of.queries(problem.g, problem.g_strides, batch), first_row,
                                 of.width, of.wide);
    for (int first = 0; first < of.keys; first += tile) {
      const uint8_t state = states[first / static_cast<int>(AttentionShape::tile)];
      if (state == none) continue;
      load_tile<width, tile>(block, tiles.first, of.per_key(of.k, of.shape.k, batch), first,
                             of.width, of.wide);
      load_tile<width, tile>(block, tiles.second, of.per_key(of.v, of.shape.v, batch), first,
                             of.width, of.wide);
      meet(block);
      Block8 logits, g_p;
      PerThread<Floats<2>> largest;
      block.each_alone([&](int thread) {
        clear(logits[thread]);
        clear(g_p[thread]);
        largest[thread] = rows[thread].largest;
      });
      TileProducts<E>::template times_transposed<width>(block, logits, tiles.left, tiles.first);
      TileProducts<E>::template times_transposed<width>(block, g_p, tiles.right, tiles.second);
      mask_logits(block, of, batch, logits, first_row, first, state == some);
      largest_of(block, logits, largest);
      add(block, rows, logits, g_p, largest);
      meet(block);
    }
    finish(block, index, first_row, rows);
  }

  SHARDPROOF_DEVICE void finish(Block& block, int64_t index, int first_row,
                                PerThread<Rows>& rows) const {
    PerThread<Floats<4>> sums;
    block.each_alone([&](int thread) {
      const Rows& own = rows[thread];
      sums[thread] = {{own.sum.at[0], own.dot.at[0], own.sum.at[1], own.dot.at[1]}};
    });
    join_lanes<4>(block, sums, Add{});
    block.each_alone([&](int thread) {
      const int lane = thread % warp_threads;
      for (int i = 0; i < 2; ++i) {
        const int row = first_row + thread / warp_threads * 16 + fragment::c_row(lane, 2 * i);
        if (lane % 4 != 0 || row >= problem.of.rows) continue;
        const int64_t at = problem.row(index, row);
        problem.stats[2 * at] = rows[thread].largest.at[i];
        problem.stats[2 * at + 1] = sums[thread].at[2 * i];
        problem.deltas[at] = sums[thread].at[2 * i + 1] / sums[thread].at[2 * i];
      }
    });
  }
};

/// delta from the forward's o: the sum over keys of p g_p equals the sum over the width of g o.
template <class E>
struct DeltaKernel {
  GradProblem<E> problem;
  const E* o;
  HeadStrides o_strides;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const AttentionProblem<E>& of = problem.of;
    constexpr int warps = attention_threads / warp_threads;
    const int64_t index = block.index() % of.shape.batches();
    const int first = static_cast<int>(block.index() / of.shape.batches()) * warps;
    const BatchIndex batch(index, of.shape.batch);
    const auto g = of.queries(problem.g, problem.g_strides, batch);
    const auto own = of.queries(o, o_strides, batch);
    PerThread<Floats<1>> dots;
    block.each_alone([&](int thread) {
      const int row = first + thread / warp_threads;
      float dot = 0;
      for (int d = thread % warp_threads; row < of.rows && d < of.width; d += warp_threads)
        dot += widen(g.at(row)[d]) * widen(own.at(row)[d]);
      dots[thread].at[0] = dot;
    });
    join_lanes<warp_threads>(block, dots, Add{});
    block.each_alone([&](int thread) {
      const int row = first + thread / warp_threads;
      if (thread % warp_threads == 0 && row < of.rows)
        problem.deltas[problem.row(index, row)] = dots[thread].at[0];
    });
  }
};

/// g_q: 64 rows, looping over the tiles of keys.
template <class E, int width>
struct QueryGradKernel {
  GradProblem<E> problem;
  HeadStrides g_q_strides;
  E* g_q;

  static constexpr int tile = width > 64 ? 32 : 64;
  using Tiles = FourTiles<E, width, tile>;
  using Block8 = PerThread<Accumulator<tile / 8>>;

  struct Rows {
    Floats<2> largest, sum, delta;
  };

  SHARDPROOF_DEVICE Rows rows_of(int thread, int64_t index, int first_row) const {
    Rows rows;
    for (int i = 0; i < 2; ++i) {
      const int64_t at = problem.row(index, first_row + thread / warp_threads * 16 +
                                                fragment::c_row(thread % warp_threads, 2 * i));
      rows.largest.at[i] = problem.stats[2 * at];
      rows.sum.at[i] = 1 / problem.stats[2 * at + 1];
      rows.delta.at[i] = problem.deltas[at];
    }
    return rows;
  }

  SHARDPROOF_DEVICE void grads(Block& block, Block8& logits, const Block8& g_p,
                               const PerThread<Rows>& rows) const {
    const float scale = problem.of.scale.get();
    block.each_alone([&](int thread) {
      const Rows& own = rows[thread];
      SHARDPROOF_UNROLL()
      for (int entry = 0; entry < 4; ++entry) {
        SHARDPROOF_UNROLL()
        for (int i = 0; i < tile / 8; ++i) {
          float& x = logits[thread].at[i][entry];
          const float p = weight(x, own.largest.at[entry / 2]) * own.sum.at[entry / 2];
          x = logit_grad(x, p, g_p[thread].at[i][entry], own.delta.at[entry / 2], scale);
        }
      }
    });
  }

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const AttentionProblem<E>& of = problem.of;
    const int64_t batches = of.shape.batches(), index = block.index() % batches;
    const int row_tile = of.row_tiles - 1 - static_cast<int>(block.index() / batches);
    const int first_row = row_tile * block_rows;
    const BatchIndex batch(index, of.shape.batch);
    const uint8_t* states = of.states_of(batch) + row_tile * of.key_tiles;
    const Tiles tiles(block);
    PerThread<Rows> rows;
    PerThread<Accumulator<width / 8>> sums;
    PerThread<Floats<2>> factors;
    block.each_alone([&](int thread) {
      rows[thread] = rows_of(thread, index, first_row);
      clear(sums[thread]);
      factors[thread] = {{1, 1}};
    });
    load_tile<width, block_rows>(block, tiles.left, of.queries(of.q, of.shape.q, batch), first_row,
                                 of.width, of.wide);
    load_tile<width, block_rows>(block, tiles.right,
                                 of.queries(problem.g, problem.g_strides, batch), first_row,
                                 of.width, of.wide);
    for (int first = 0; first < of.keys; first += tile) {
      const uint8_t state = states[first / static_cast<int>(AttentionShape::tile)];
      if (state == none) continue;
      load_tile<width, tile>(block, tiles.first, of.per_key(of.k, of.shape.k, batch), first,
                             of.width, of.wide);
      load_tile<width, tile>(block, tiles.second, of.per_key(of.v, of.shape.v, batch), first,
                             of.width, of.wide);
      meet(block);
      Block8 logits, g_p;
      block.each_alone([&](int thread) {
        clear(logits[thread]);
        clear(g_p[thread]);
      });
      TileProducts<E>::template times_transposed<width>(block, logits, tiles.left, tiles.first);
      TileProducts<E>::template times_transposed<width>(block, g_p, tiles.right, tiles.second);
      mask_logits(block, of, batch, logits, first_row, first, state == some);
      grads(block, logits, g_p, rows);
      TileProducts<E>::template times<width>(block, sums, logits, tiles.first, tiles.staging);
      meet(block);
    }
    const Vectors<E> to(g_q, g_q_strides, batch, of.group, of.rows);
    store_tile(block, sums, factors, to, first_row, 0, of.width, of.wide);
  }
};

/// g_k and g_v: 64 keys, looping over the tiles of rows; `columns` of them from column * columns.
/// The logits are transposed: a thread's rows are keys.
template <class E, int width>
struct KeyGradKernel {
  GradProblem<E> problem;
  HeadStrides g_k_strides, g_v_strides;
  E *g_k, *g_v;

  static constexpr int tile = width > 64 ? 32 : 64;
  static constexpr int columns = width > 128 ? 128 : width, parts = width / columns;
  using Tiles = FourTiles<E, width, tile>;
  using Block8 = PerThread<Accumulator<tile / 8>>;
  using Sums = PerThread<Accumulator<columns / 8>>;

  static constexpr size_t shared_bytes() { return Tiles::bytes() + 3 * tile * sizeof(float); }

  /// Loads rows first .. into shared memory: largest, 1 / sum, delta.
  SHARDPROOF_DEVICE void load_rows(Block& block, float* rows, int64_t index, int first) const {
    block.each_alone([&](int thread) {
      if (thread >= tile) return;
      const int64_t at = problem.row(index, first + thread);
      rows[thread] = problem.stats[2 * at];
      rows[tile + thread] = 1 / problem.stats[2 * at + 1];
      rows[2 * tile + thread] = problem.deltas[at];
    });
  }

  /// Turns products into probabilities, and their gradients into those of the logits.
  SHARDPROOF_DEVICE void grads(Block& block, const BatchIndex& batch, Block8& logits, Block8& g_p,
                               const float* rows, int first_key, int first_row, bool masked) const {
    const AttentionProblem<E>& of = problem.of;
    const float scale = of.scale.get();
    block.each_alone([&](int thread) {
      const int lane = thread % warp_threads;
      SHARDPROOF_UNROLL()
      for (int i = 0; i < tile / 8; ++i) {
        SHARDPROOF_UNROLL()
        for (int entry = 0; entry < 4; ++entry) {
          const int key = first_key + thread / warp_threads * 16 + fragment::c_row(lane, entry);
          const int column = i * 8 + fragment::c_column(lane, entry), row = first_row + column;
          float x = logits[thread].at[i][entry] * scale;
          if (key >= of.keys || row >= of.rows)
            x = -INFINITY;
          else if (masked && !of.allowed(of.mask_row(batch, row), key))
            x = masked_logit;
          const float p = weight(x, rows[column]) * rows[tile + column];
          logits[thread].at[i][entry] = p;
          float& g = g_p[thread].at[i][entry];
          g = logit_grad(x, p, g, rows[2 * tile + column], scale);
        }
      }
    });
  }

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const AttentionProblem<E>& of = problem.of;
    const int64_t batches = of.shape.batches(), index = block.index() / parts % batches;
    const int part = static_cast<int>(block.index() % parts);
    const int key_tile = static_cast<int>(block.index() / parts / batches);
    const int first_key = key_tile * block_rows;
    const BatchIndex batch(index, of.shape.batch);
    const uint8_t* states = of.states_of(batch) + key_tile;
    const Tiles tiles(block);
    auto* rows = block.shared<float>(Tiles::bytes());
    Sums sums_k, sums_v;
    PerThread<Floats<2>> factors;
    block.each_alone([&](int thread) {
      clear(sums_k[thread]);
      clear(sums_v[thread]);
      factors[thread] = {{1, 1}};
    });
    load_tile<width, block_rows>(block, tiles.left, of.per_key(of.k, of.shape.k, batch), first_key,
                                 of.width, of.wide);
    load_tile<width, block_rows>(block, tiles.right, of.per_key(of.v, of.shape.v, batch), first_key,
                                 of.width, of.wide);
    for (int first = 0; first < of.rows; first += tile) {
      const uint8_t state = states[first / static_cast<int>(AttentionShape::tile) * of.key_tiles];
      if (state == none) continue;
      load_tile<width, tile>(block, tiles.first, of.queries(of.q, of.shape.q, batch), first,
                             of.width, of.wide);
      load_tile<width, tile>(block, tiles.second, of.queries(problem.g, problem.g_strides, batch),
                             first, of.width, of.wide);
      load_rows(block, rows, index, first);
      meet(block);
      Block8 logits, g_p;
      block.each_alone([&](int thread) {
        clear(logits[thread]);
        clear(g_p[thread]);
      });
      TileProducts<E>::template times_transposed<width>(block, logits, tiles.left, tiles.first);
      TileProducts<E>::template times_transposed<width>(block, g_p, tiles.right, tiles.second);
      grads(block, batch, logits, g_p, rows, first_key, first, state == some);
      TileProducts<E>::template times<width>(block, sums_v, logits, tiles.second + part * columns,
                                             tiles.staging);
      TileProducts<E>::template times<width>(block, sums_k, g_p, tiles.first + part * columns,
                                             tiles.staging);
      meet(block);
    }
    store_tile(block, sums_k, factors, Vectors<E>(g_k, g_k_strides, batch, 1, of.keys), first_key,
               part * columns, of.width, of.wide);
    store_tile(block, sums_v, factors, Vectors<E>(g_v, g_v_strides, batch, 1, of.keys), first_key,
               part * columns, of.width, of.wide);
  }
};

template <class E, int width>
void launch_grad(const Stream& stream, const AttentionGrad& op, Outputs outputs, Inputs inputs) {
  const void* const* next = inputs + (op.after_forward ? 7 : 5);
  const Given scale = given(op.scale, next);
  const bool wide = wide_vectors(
      op, {&op.g, &op.q, &op.k, &op.v, &op.g_q, &op.g_k, &op.g_v},
      {inputs[0], inputs[1], inputs[2], inputs[3], outputs[0], outputs[1], outputs[2]});
  void* stats = op.after_forward ? const_cast<void*>(inputs[6]) : outputs[5];
  const GradProblem<E> problem{problem_of<E>(op, inputs + 1, outputs[3], scale, wide),
                               static_cast<const E*>(inputs[0]), op.g, static_cast<float*>(stats),
                               static_cast<float*>(outputs[4])};
  const int64_t blocks = op.batches() * op.row_tiles();
  if (op.after_forward)
    launch<attention_threads>(stream, op.batches() * ((op.rows() + 3) / 4),
                              DeltaKernel<E>{problem, static_cast<const E*>(inputs[5]), op.o});
  else
    launch<attention_threads>(stream, blocks, StatsKernel<E, width>{problem},
                              StatsKernel<E, width>::Tiles::bytes());
  launch<attention_threads>(stream, blocks,
                            QueryGradKernel<E, width>{problem, op.g_q, static_cast<E*>(outputs[0])},
                            QueryGradKernel<E, width>::Tiles::bytes());
  using KeyGrad = KeyGradKernel<E, width>;
  launch<attention_threads>(
      stream, op.batches() * op.key_tiles() * KeyGrad::parts,
      KeyGrad{problem, op.g_k, op.g_v, static_cast<E*>(outputs[1]), static_cast<E*>(outputs[2])},
      KeyGrad::shared_bytes());
}

}  // namespace

void run(const Stream& stream, const AttentionGrad& op, Outputs outputs, Inputs inputs) {
  summarize_mask(stream, op, inputs[4], outputs[3]);
  if (op.element == Element::bf16)
    op.width <= 64    ? launch_grad<Bfloat16, 64>(stream, op, outputs, inputs)
    : op.width <= 128 ? launch_grad<Bfloat16, 128>(stream, op, outputs, inputs)
                      : launch_grad<Bfloat16, 256>(stream, op, outputs, inputs);
  else
    op.width <= 64 ? launch_grad<float, 64>(stream, op, outputs, inputs)
                   : launch_grad<float, 128>(stream, op, outputs, inputs);
}

}  // namespace shardproof::SHARDPROOF_MACHINE
