#pragma once
// The work on a row of logits between attention's two products, compiled for each instruction
// level.
#include <cstdint>

#include "kernels/cpu/isa.h"

namespace shardproof::cpu {

/// The largest logit of a row, and the sum of exp(logit - largest).
struct RowStats {
  float largest = 0, sum = 0;
};

/// A query has weights for `keys` keys, which are 0 but from `first` to before `last`.
struct RowSpan {
  int64_t first = 0, last = 0, keys = 0;
};

struct AttentionRows {
  /// Replaces products of a query and the keys by exp(logit - largest), and by 0 outside of the
  /// span. The logit is product * scale, or -1e10 where `allowed` is 0, whose first entry is that
  /// of key `first`; null allows all keys. With `narrow` the weights go there, in bf16, and
  /// `products` are lost.
  RowStats (*weigh)(float* products, const RowSpan& span, float scale, const uint8_t* allowed,
                    uint16_t* narrow);
  /// Normalizes weights to probabilities, and turns their gradients `g` into gradients of the
  /// products, which are 0 outside of the span. With `narrow_weights` both go to bf16 arrays.
  void (*pull)(float* weights, float* g, const RowSpan& span, float sum, float scale,
               uint16_t* narrow_weights, uint16_t* narrow_g);
  /// to[i] = from[i] * factor
  void (*scale)(float* to, const float* from, int64_t n, float factor);
};

/// The functions of this level, which the processor must support; null for `baseline`.
const AttentionRows* attention_rows(Isa isa);

}  // namespace shardproof::cpu
