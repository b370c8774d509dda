// Highway's foreach_target compiles this file once per instruction level, like vector_steps.cpp.
#include "kernels/cpu/attention_rows.h"

#include <algorithm>

#ifndef SHARDPROOF_HIGHWAY
namespace shardproof::cpu {
const AttentionRows* attention_rows(Isa) { return nullptr; }
}  // namespace shardproof::cpu
#else

#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_rows.cpp"
#include <hwy/foreach_target.h>
// must come after foreach_target.h
#include "kernels/cpu/vector_rows.h"

HWY_BEFORE_NAMESPACE();
namespace shardproof::cpu {
namespace HWY_NAMESPACE {

constexpr float masked_logit = -1e10f;

void mask_logits(float* HWY_RESTRICT x, int64_t n, float scale,
                 const uint8_t* HWY_RESTRICT allowed) {
  for (int64_t i = 0; i < n; ++i) x[i] = allowed[i] != 0 ? x[i] * scale : masked_logit;
}

void scale_row(float* to, const float* from, int64_t n, float factor) {
  for_each_vector(n, [=](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, from + i), hn::Set(d, factor)), d, to + i);
  });
}

/// The span in whole vectors of every level, as far as there are keys.
struct Widened {
  int64_t begin, end, keys;
  explicit Widened(const RowSpan& span)
      : begin(span.first / block * block),
        end(std::min((span.last + block - 1) / block * block, span.keys)),
        keys(span.keys) {}
  int64_t count() const { return end - begin; }
  static constexpr int64_t block = 16;
};

template <class To>
void clear_outside(To* x, const Widened& wide) {
  std::fill(x, x + wide.begin, To{0});
  std::fill(x + wide.end, x + wide.keys, To{0});
}

/// The weights of n logits x * scale; `to` may be x.
template <class To>
HWY_INLINE RowStats weighed(const float* x, int64_t n, float scale, To* to) {
  const float most = largest_of(x, n) * scale;
  const float sum = sum_of(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto off = hn::MulSub(hn::LoadU(d, x + i), hn::Set(d, scale), hn::Set(d, most));
    const auto weight = exp_of_negative(d, off);
    stored(d, weight, to + i);
    return weight;
  });
  return {most, sum};
}

template <class To>
HWY_INLINE RowStats weigh_span(float* x, const RowSpan& span, float scale, To* to) {
  const Widened wide(span);
  constexpr float no_weight = -std::numeric_limits<float>::infinity();
  std::fill(x + wide.begin, x + span.first, no_weight);
  std::fill(x + span.last, x + wide.end, no_weight);
  clear_outside(to, wide);
  return weighed(x + wide.begin, wide.count(), scale, to + wide.begin);
}

RowStats weigh(float* x, const RowSpan& span, float scale, const uint8_t* allowed,
               uint16_t* narrow) {
  float* const own = x + span.first;
  if (allowed)
    mask_logits(own, span.last - span.first, scale, allowed);
  else if (!(scale > 0))  // the largest product does not have the largest logit
    scale_row(own, own, span.last - span.first, scale);
  const float left = allowed || !(scale > 0) ? 1.0f : scale;
  return narrow ? weigh_span(x, span, left, narrow) : weigh_span(x, span, left, x);
}

template <class To>
HWY_INLINE void pulled(float* weights, const float* g, int64_t n, float sum, float scale,
                       To* to_weights, To* to) {
  const float share = 1.0f / sum;
  const float delta = sum_of(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto p = hn::Mul(hn::LoadU(d, weights + i), hn::Set(d, share));
    hn::StoreU(p, d, weights + i);
    if constexpr (!std::is_same_v<To, float>) stored(d, p, to_weights + i);
    return hn::Mul(p, hn::LoadU(d, g + i));
  });
  for_each_vector(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto off = hn::Sub(hn::LoadU(d, g + i), hn::Set(d, delta));
    const auto p = hn::LoadU(d, weights + i);
    stored(d, hn::Mul(hn::Mul(p, off), hn::Set(d, scale)), to + i);
  });
}

template <class To>
HWY_INLINE void pull_span(float* weights, float* g, const RowSpan& span, float sum, float scale,
                          To* to_weights, To* to) {
  const Widened wide(span);
  if constexpr (!std::is_same_v<To, float>) clear_outside(to_weights, wide);
  clear_outside(to, wide);
  pulled(weights + wide.begin, g + wide.begin, wide.count(), sum, scale, to_weights + wide.begin,
         to + wide.begin);
}

void pull(float* weights, float* g, const RowSpan& span, float sum, float scale,
          uint16_t* narrow_weights, uint16_t* narrow_g) {
  if (narrow_weights)
    pull_span(weights, g, span, sum, scale, narrow_weights, narrow_g);
  else
    pull_span(weights, g, span, sum, scale, weights, g);
}

[[maybe_unused]] const AttentionRows rows{weigh, pull, scale_row};

}  // namespace HWY_NAMESPACE
}  // namespace shardproof::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/at_level.h"

namespace shardproof::cpu {

const AttentionRows* attention_rows([[maybe_unused]] Isa isa) {
  SHARDPROOF_RETURN_AT_LEVEL(isa, rows);
}

}  // namespace shardproof::cpu
#endif
#endif
