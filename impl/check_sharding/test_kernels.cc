// Kernels of trusted plans, right and wrong, for the tests of --kernel.
#include <cstdlib>
#include <cstring>

#include "impl/check_sharding/kernel.h"

namespace {

float number(const shardproof_tensor& tensor, int64_t at) {
  if (std::strcmp(tensor.element, "f32") == 0) return static_cast<const float*>(tensor.data)[at];
  const uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t*>(tensor.data)[at]) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// out[b, m] = x[b, m] * k[m], but with `factor_at(m)` in place of m, and `left` entries unwritten.
template <class FactorAt>
int scale(const shardproof_tensor* out, const shardproof_tensor* in, FactorAt factor_at,
          int64_t left) {
  const shardproof_tensor &x = in[0], &k = in[1];
  const int64_t rows = x.extents[0], columns = x.extents[1];
  for (int64_t b = 0; b < rows; ++b)
    for (int64_t m = 0; m < columns; ++m)
      if (b * columns + m < rows * columns - left)
        static_cast<float*>(out->data)[b * out->strides[0] + m * out->strides[1]] =
            number(x, b * x.strides[0] + m * x.strides[1]) * number(k, factor_at(m) * k.strides[0]);
  return 0;
}

constexpr auto own = [](int64_t m) { return m; };

}  // namespace

extern "C" {

shardproof_kernel scaled_rows, scaled_by_the_first, forgets_the_last, writes_beside,
    changes_its_input, gives_up, own_part, writes_far, reads_far, aborts;

int scaled_rows(const shardproof_rank*, const shardproof_tensor* out, int32_t,
                const shardproof_tensor* in, int32_t) {
  return scale(out, in, own, 0);
}

int scaled_by_the_first(const shardproof_rank*, const shardproof_tensor* out, int32_t,
                        const shardproof_tensor* in, int32_t) {
  return scale(
      out, in, [](int64_t) { return int64_t{0}; }, 0);
}

int forgets_the_last(const shardproof_rank*, const shardproof_tensor* out, int32_t,
                     const shardproof_tensor* in, int32_t) {
  return scale(out, in, own, 1);
}

int writes_beside(const shardproof_rank*, const shardproof_tensor* out, int32_t,
                  const shardproof_tensor* in, int32_t) {
  scale(out, in, own, 0);
  static_cast<float*>(out->data)[-1] = 0;
  return 0;
}

int changes_its_input(const shardproof_rank*, const shardproof_tensor* out, int32_t,
                      const shardproof_tensor* in, int32_t) {
  scale(out, in, own, 0);
  static_cast<uint16_t*>(in[0].data)[0] ^= 1;
  return 0;
}

int writes_far(const shardproof_rank*, const shardproof_tensor* out, int32_t,
               const shardproof_tensor* in, int32_t) {
  scale(out, in, own, 0);
  static_cast<float*>(out->data)[100'000] = 0;
  return 0;
}

int reads_far(const shardproof_rank*, const shardproof_tensor* out, int32_t,
              const shardproof_tensor* in, int32_t) {
  return scale(
      out, in, [](int64_t m) { return m - 100'000; }, 0);
}

int aborts(const shardproof_rank*, const shardproof_tensor*, int32_t, const shardproof_tensor*,
           int32_t) {
  std::abort();
}

int gives_up(const shardproof_rank*, const shardproof_tensor*, int32_t, const shardproof_tensor*,
             int32_t) {
  return 7;
}

/// The rank's part of a whole vector: it needs to know where it stands.
int own_part(const shardproof_rank* rank, const shardproof_tensor* out, int32_t,
             const shardproof_tensor* in, int32_t) {
  const int64_t count = out->extents[0];
  for (int64_t i = 0; i < count; ++i)
    static_cast<float*>(out->data)[i] = number(in[0], rank->index[0] * count + i);
  return 0;
}
}
