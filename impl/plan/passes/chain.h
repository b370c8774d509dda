#pragma once
// Simplifies fused elementwise kernels that are written in different ways.
#include "impl/plan/steps.h"

namespace shardproof::plan {

/// The register with the same entries as `at`, without a factor of 1 (casts are multiplications by
/// 1).
size_t without_factor(const Pointwise& chain, size_t at);

/// The register of the result, without a factor of 1.
inline size_t result_of(const Pointwise& chain) {
  return without_factor(chain, chain.inputs.size() + chain.steps.size() - 1);
}

/// Whether the step adds each of its inputs once, entry by entry.
bool adds_all(const Step& step);

}  // namespace shardproof::plan
