#pragma once
// What attention does with a row of logits between its products, compiled for each level of
// instructions.
#include <cstdint>

#include "kernels/cpu/isa.h"

namespace shardproof::cpu {

/// The largest logit of a row, and the sum of exp(logit - largest).
struct RowMass {
  float largest = 0, sum = 0;
};

struct AttentionRows {
  /// Products of a query and n keys become exp(logit - largest), where the logit is product *
  /// scale, and -1e10 where `allowed` has 0; null allows all.
  RowMass (*weigh)(float* products, int64_t n, float scale, const uint8_t* allowed);
  /// Weights become probabilities, and the probabilities' gradients `g` the products' gradients.
  void (*pull)(float* weights, float* g, int64_t n, float sum, float scale);
  /// to[i] = from[i] * factor
  void (*scale)(float* to, const float* from, int64_t n, float factor);
};

/// The functions of this level, which the processor must have; null for `baseline`.
const AttentionRows* attention_rows(Isa isa);

}  // namespace shardproof::cpu
