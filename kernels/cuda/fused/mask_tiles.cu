// The state of each tile of a mask: none, some or all allowed.
#include "kernels/cuda/fused/attention.h"
#include "kernels/cuda/fused/rows.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

constexpr int mask_threads = 256;  ///< four per row of a tile
constexpr int keys_each = 16;

/// One block per 64 rows.
struct MaskTilesKernel {
  AttentionShape shape;
  const uint8_t* mask;
  uint8_t* states;
  bool wide;  ///< one access reads 16 keys

  /// (anything allowed, anything forbidden) of 16 keys of a row.
  SHARDPROOF_DEVICE Floats<2> look(const uint8_t* row, int64_t key) const {
    bool allowed = false, forbidden = false;
    const int64_t count = shape.keys - key < keys_each ? shape.keys - key : keys_each;
    if (wide && count == keys_each) {
      const auto own = *reinterpret_cast<const Entries<uint8_t, keys_each>*>(row + key);
      SHARDPROOF_UNROLL()
      for (int i = 0; i < keys_each; ++i) (own.at[i] != 0 ? allowed : forbidden) = true;
    } else {
      for (int i = 0; i < count; ++i)
        (row[(key + i) * shape.mask.key] != 0 ? allowed : forbidden) = true;
    }
    return {{allowed ? 1.0f : 0.0f, forbidden ? 1.0f : 0.0f}};
  }

  SHARDPROOF_DEVICE const uint8_t* row_of(int64_t mask_batch, int64_t row) const {
    int64_t offset = 0;
    for (int d = 2; d >= 0; --d) {
      if (shape.mask.batch[d] == 0) continue;
      offset += mask_batch % shape.batch[d] * shape.mask.batch[d];
      mask_batch /= shape.batch[d];
    }
    return mask + offset + row / shape.group * shape.mask.query +
           row % shape.group * shape.mask.group;
  }

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const int64_t mask_batch = block.index() / shape.row_tiles();
    const int64_t first = block.index() % shape.row_tiles() * AttentionShape::tile;
    uint8_t* own = states + block.index() * shape.key_tiles();
    PerThread<Floats<2>> seen;
    PerThread<Floats<1>> row_allows;
    block.each_alone([&](int thread) { row_allows[thread].at[0] = 0; });
    for (int64_t tile = 0; tile < shape.key_tiles(); ++tile) {
      block.each_alone([&](int thread) {
        const int64_t row = first + thread / 4;
        const int64_t key = tile * AttentionShape::tile + thread % 4 * keys_each;
        seen[thread] = Floats<2>{};
        if (row < shape.rows() && key < shape.keys)
          seen[thread] = look(row_of(mask_batch, row), key);
        if (seen[thread].at[0] > 0) row_allows[thread].at[0] = 1;
      });
      join_team<mask_threads>(block, seen, Larger{}, block.shared<Floats<2>>());
      block.each([&](int thread) {
        if (thread != 0) return;
        own[tile] = seen[0].at[0] == 0 ? none : seen[0].at[1] == 0 ? all : some;
      });
    }
    join_lanes<4>(block, row_allows, Larger{});
    PerThread<Floats<1>> empty;  // whether a row allows no key
    block.each_alone([&](int thread) {
      const bool is_row = first + thread / 4 < shape.rows();
      empty[thread].at[0] = is_row && row_allows[thread].at[0] == 0 ? 1 : 0;
    });
    join_team<mask_threads>(block, empty, Larger{}, block.shared<Floats<1>>());
    block.each_alone([&](int thread) {
      if (empty[thread].at[0] == 0) return;
      for (int64_t tile = thread; tile < shape.key_tiles(); tile += mask_threads)
        if (own[tile] == none) own[tile] = some;
    });
  }
};

}  // namespace

void summarize_mask(const Stream& stream, const AttentionShape& shape, const void* mask,
                    void* states) {
  const MaskStrides& strides = shape.mask;
  const auto whole = [](int64_t stride) { return stride % keys_each == 0; };
  const bool wide = strides.key == 1 && whole(strides.query) && whole(strides.group) &&
                    whole(strides.batch[0]) && whole(strides.batch[1]) && whole(strides.batch[2]) &&
                    aligned(0, 1, {mask});
  launch<mask_threads>(stream, shape.mask_batches() * shape.row_tiles(),
                       MaskTilesKernel{shape, static_cast<const uint8_t*>(mask),
                                       static_cast<uint8_t*>(states), wide},
                       mask_threads / warp_threads * sizeof(Floats<2>));
}

bool wide_vectors(const AttentionShape& shape, std::initializer_list<const HeadStrides*> strides,
                  std::initializer_list<const void*> arrays) {
  const auto per = static_cast<int64_t>(widest_access / size_of(shape.element));
  bool fits = aligned(shape.width, static_cast<int>(per), arrays);
  for (const HeadStrides* each : strides) {
    for (int64_t stride : each->batch) fits = fits && stride % per == 0;
    fits = fits && each->position % per == 0 && each->group % per == 0;
  }
  return fits;
}

}  // namespace shardproof::SHARDPROOF_MACHINE
