// Converts a mask to a bias that libraries add to the logits.
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/fused/rows.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

/// n adjacent keys at a time.
template <int n>
struct MaskBiasKernel {
  int64_t count, queries, keys, by_batch;
  MaskStrides strides;
  const uint8_t* mask;
  uint16_t* bias;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    each_of(block, count / n, [&](int64_t i) {
      const int64_t at = i * n, row = at / keys;
      const uint8_t* from =
          mask + row / queries * by_batch + row % queries * strides.query + at % keys * strides.key;
      Floats<n> floats;
      for (int j = 0; j < n; ++j) floats.at[j] = from[j * strides.key] != 0 ? 0.0f : -1e10f;
      store(reinterpret_cast<Bfloat16*>(bias) + at, floats);
    });
  }
};

}  // namespace

void to_bias(const Stream& stream, const AttentionShape& shape, int64_t batch, int64_t stride,
             const uint8_t* mask, uint16_t* bias) {
  const int64_t count = batch * shape.queries * shape.keys;
  if (aligned(shape.keys, 8, {bias}))
    launch_each(
        stream, count / 8,
        MaskBiasKernel<8>{count, shape.queries, shape.keys, stride, shape.mask, mask, bias});
  else
    launch_each(
        stream, count,
        MaskBiasKernel<1>{count, shape.queries, shape.keys, stride, shape.mask, mask, bias});
}

}  // namespace shardproof::SHARDPROOF_MACHINE
