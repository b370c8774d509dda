// Attention that keeps the logits of one tile only: online softmax over tiles of keys.
#include "kernels/cuda/fused/attention.h"

#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/fused/rows.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

template <class E, int width>
struct AttentionKernel {
  AttentionProblem<E> problem;
  HeadStrides o_strides;
  E* o;
  float* stats;

  static constexpr int tile = width > 128 ? 32 : 64;  ///< keys per tile
  static constexpr int tile_entries = tile * tile_stride<E>(width);
  static constexpr int query_entries = block_rows * tile_stride<E>(width);
  static constexpr size_t shared_bytes() {
    return static_cast<size_t>(query_entries + 2 * tile_entries) * sizeof(E) +
           TileProducts<E>::staging_bytes(block_rows, tile);
  }
  using Logits = PerThread<Accumulator<tile / 8>>;

  /// The state of a thread's two rows.
  struct Rows {
    Floats<2> largest, sum;
  };

  /// Turns logits into weights, and rescales the running sums to the new largest logit.
  SHARDPROOF_DEVICE void weigh(Block& block, Logits& logits, PerThread<Rows>& rows,
                               const PerThread<Floats<2>>& largest,
                               PerThread<Accumulator<width / 8>>& sums) const {
    block.each_alone([&](int thread) {
      Floats<2> by;
      SHARDPROOF_UNROLL()
      for (int i = 0; i < 2; ++i) {
        by.at[i] = weight(rows[thread].largest.at[i], largest[thread].at[i]);
        rows[thread].largest.at[i] = largest[thread].at[i];
        rows[thread].sum.at[i] *= by.at[i];
      }
      SHARDPROOF_UNROLL()
      for (int entry = 0; entry < 4; ++entry) {
        SHARDPROOF_UNROLL()
        for (int i = 0; i < tile / 8; ++i) {
          float& x = logits[thread].at[i][entry];
          x = weight(x, largest[thread].at[entry / 2]);
          rows[thread].sum.at[entry / 2] += x;
        }
        SHARDPROOF_UNROLL()
        for (int i = 0; i < width / 8; ++i) sums[thread].at[i][entry] *= by.at[entry / 2];
      }
    });
  }

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const int64_t batches = problem.shape.batches(), index = block.index() % batches;
    // With a causal mask, the last rows see the most keys, so they start first.
    const int row_tile = problem.row_tiles - 1 - static_cast<int>(block.index() / batches);
    const int first_row = row_tile * block_rows;
    const BatchIndex batch(index, problem.shape.batch);
    const uint8_t* states = problem.states_of(batch) + row_tile * problem.key_tiles;
    auto* queries = block.shared<E>();
    E *keys = queries + query_entries, *values = keys + tile_entries;
    void* staging = values + tile_entries;

    PerThread<Rows> rows;
    PerThread<Accumulator<width / 8>> sums;
    block.each_alone([&](int thread) {
      rows[thread] = {{{-INFINITY, -INFINITY}}, {{0, 0}}};
      clear(sums[thread]);
    });
    load_tile<width, block_rows>(block, queries, problem.queries(problem.q, problem.shape.q, batch),
                                 first_row, problem.width, problem.wide);
    const auto k = problem.per_key(problem.k, problem.shape.k, batch);
    const auto v = problem.per_key(problem.v, problem.shape.v, batch);
    for (int first = 0; first < problem.keys; first += tile) {
      const uint8_t state = states[first / static_cast<int>(AttentionShape::tile)];
      if (state == none) continue;
      load_tile<width, tile>(block, keys, k, first, problem.width, problem.wide);
      load_tile<width, tile>(block, values, v, first, problem.width, problem.wide);
      meet(block);
      Logits logits;
      PerThread<Floats<2>> largest;
      block.each_alone([&](int thread) {
        clear(logits[thread]);
        largest[thread] = rows[thread].largest;
      });
      TileProducts<E>::template times_transposed<width>(block, logits, queries, keys);
      mask_logits(block, problem, batch, logits, first_row, first, state == some);
      largest_of(block, logits, largest);
      weigh(block, logits, rows, largest, sums);
      TileProducts<E>::template times<width>(block, sums, logits, values, staging);
      meet(block);
    }
    finish(block, batch, index, first_row, rows, sums);
  }

  SHARDPROOF_DEVICE void finish(Block& block, const BatchIndex& batch, int64_t index, int first_row,
                                PerThread<Rows>& rows,
                                PerThread<Accumulator<width / 8>>& sums) const {
    PerThread<Floats<2>> sum, factors;
    block.each_alone([&](int thread) { sum[thread] = rows[thread].sum; });
    join_lanes<4>(block, sum, Add{});
    block.each_alone([&](int thread) {
      const int lane = thread % warp_threads;
      for (int i = 0; i < 2; ++i) {
        const int row = first_row + thread / warp_threads * 16 + fragment::c_row(lane, 2 * i);
        factors[thread].at[i] = 1 / sum[thread].at[i];
        if (lane % 4 != 0 || row >= problem.rows) continue;
        float* row_stats = stats + (index * problem.rows + row) * 2;
        row_stats[0] = rows[thread].largest.at[i];
        row_stats[1] = sum[thread].at[i];
      }
    });
    const Vectors<E> to(o, o_strides, batch, problem.group, problem.rows);
    store_tile(block, sums, factors, to, first_row, 0, problem.width, problem.wide);
  }
};

template <class E, int width>
void launch_attention(const Stream& stream, const Attention& op, Outputs outputs, Inputs inputs) {
  const void* const* next = inputs + 4;
  const Given scale = given(op.scale, next);
  const bool wide =
      wide_vectors(op, {&op.q, &op.k, &op.v, &op.o}, {inputs[0], inputs[1], inputs[2], outputs[0]});
  using Kernel = AttentionKernel<E, width>;
  launch<attention_threads>(stream, op.batches() * op.row_tiles(),
                            Kernel{problem_of<E>(op, inputs, outputs[2], scale, wide), op.o,
                                   static_cast<E*>(outputs[0]), static_cast<float*>(outputs[1])},
                            Kernel::shared_bytes());
}

}  // namespace

void run(const Stream& stream, const Attention& op, Outputs outputs, Inputs inputs) {
  summarize_mask(stream, op, inputs[3], outputs[2]);
  if (op.element == Element::bf16)
    op.width <= 64    ? launch_attention<Bfloat16, 64>(stream, op, outputs, inputs)
    : op.width <= 128 ? launch_attention<Bfloat16, 128>(stream, op, outputs, inputs)
                      : launch_attention<Bfloat16, 256>(stream, op, outputs, inputs);
  else
    op.width <= 64 ? launch_attention<float, 64>(stream, op, outputs, inputs)
                   : launch_attention<float, 128>(stream, op, outputs, inputs);
}

}  // namespace shardproof::SHARDPROOF_MACHINE
