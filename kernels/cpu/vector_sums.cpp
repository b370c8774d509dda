// Highway's foreach_target compiles this file once per instruction level, like vector_steps.cpp.
// The loops are the compiler's to vectorize.
#include "kernels/cpu/vector_sums.h"

#ifndef SHARDPROOF_HIGHWAY
namespace shardproof::cpu {
const VectorSums* vector_sums(Isa) { return nullptr; }
}  // namespace shardproof::cpu
#else

#include <cstring>

#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector_sums.cpp"
#include <hwy/foreach_target.h>
// must come after foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shardproof::cpu {
namespace HWY_NAMESPACE {

bool load(double* HWY_RESTRICT to, Element element, const void* from, int64_t first, int64_t n) {
  if (element == Element::f32) {
    const float* HWY_RESTRICT x = static_cast<const float*>(from) + first;
    for (int64_t i = 0; i < n; ++i) to[i] = x[i];
    return true;
  }
  if (element != Element::bf16) return false;
  const uint16_t* HWY_RESTRICT x = static_cast<const uint16_t*>(from) + first;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = static_cast<uint32_t>(x[i]) << 16;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    to[i] = wide;
  }
  return true;
}

void add(double* HWY_RESTRICT sum, const double* HWY_RESTRICT x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

void add_in_lanes(double* HWY_RESTRICT lanes, const double* HWY_RESTRICT x, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int64_t j = 0; j < 8; ++j) lanes[j] += x[i + j];
  for (; i < n; ++i) lanes[0] += x[i];
}

[[maybe_unused]] const VectorSums sums{load, add, add_in_lanes};

}  // namespace HWY_NAMESPACE
}  // namespace shardproof::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/at_level.h"

namespace shardproof::cpu {

const VectorSums* vector_sums([[maybe_unused]] Isa isa) { SHARDPROOF_RETURN_AT_LEVEL(isa, sums); }

}  // namespace shardproof::cpu
#endif
#endif
