// Highway's foreach_target compiles this file once per instruction level, each in its own
// namespace. exp and tanh are Highway's; the other steps are loops that the compiler vectorizes.
// Only Highway's headers are used: isa.h chooses the level.
#include "kernels/cpu/vector_steps.h"

#ifndef SHARDPROOF_HIGHWAY
namespace shardproof::cpu {
const VectorSteps* vector_steps(Isa) { return nullptr; }
}  // namespace shardproof::cpu
#else

#include <cmath>

#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector_steps.cpp"
#include <hwy/foreach_target.h>
// must come after foreach_target.h
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shardproof::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;

/// In full vectors: blocks have room for them.
template <class Fn>
void mapped(const Block<float>& x, Block<float>& to, int64_t n, Fn fn) {
  const Floats d;
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::Store(fn(d, hn::Load(d, x.real + i)), d, to.real + i);
}

/// Handles NaN and numbers far above overflow, which Highway's exp does not.
struct Exp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V y = hn::Exp(d, hn::Min(x, hn::Set(d, 89.0f)));
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  }
};
struct Tanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V y = hn::Tanh(d, hn::Max(hn::Min(x, hn::Set(d, 30.0f)), hn::Set(d, -30.0f)));
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  }
};
struct Sqrt {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Sqrt(x);
  }
};
struct InverseSqrt {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(hn::Set(d, 1.0f), hn::Sqrt(x));
  }
};

float rounded_to_bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t up = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
  const uint32_t kept = x == x ? up : (bits & 0xffff0000) | 0x400000;
  float result;
  memcpy(&result, &kept, sizeof result);
  return result;
}

#define SHARDPROOF_STEP(name, to, value)               \
  if (fn == PointwiseFn::name) {                       \
    for (int64_t i = 0; i < n; ++i) (to)[i] = (value); \
    return true;                                       \
  }

bool of_reals(PointwiseFn fn, const Block<float>* const* x, Block<float>& result, int64_t n) {
  const float* HWY_RESTRICT a = x[0]->real;
  float* HWY_RESTRICT to = result.real;
  SHARDPROOF_STEP(neg, to, -a[i])
  SHARDPROOF_STEP(abs, to, std::fabs(a[i]))
  SHARDPROOF_STEP(round_bf16, to, rounded_to_bf16(a[i]))
  SHARDPROOF_STEP(round_f32, to, a[i])
  if (fn == PointwiseFn::exp) return mapped(*x[0], result, n, Exp()), true;
  if (fn == PointwiseFn::tanh) return mapped(*x[0], result, n, Tanh()), true;
  if (fn == PointwiseFn::sqrt) return mapped(*x[0], result, n, Sqrt()), true;
  if (fn == PointwiseFn::rsqrt) return mapped(*x[0], result, n, InverseSqrt()), true;
  return false;
}

bool of_pairs(PointwiseFn fn, const Block<float>* const* x, Block<float>& result, int64_t n) {
  const float* HWY_RESTRICT a = x[0]->real;
  const float* HWY_RESTRICT b = x[1]->real;
  float* HWY_RESTRICT to = result.real;
  int64_t* HWY_RESTRICT truth = result.integer;
  SHARDPROOF_STEP(add, to, a[i] + b[i])
  SHARDPROOF_STEP(sub, to, a[i] - b[i])
  SHARDPROOF_STEP(mul, to, a[i] * b[i])
  SHARDPROOF_STEP(div, to, a[i] / b[i])
  SHARDPROOF_STEP(maximum, to, (a[i] < b[i] || b[i] != b[i]) ? b[i] : a[i])
  SHARDPROOF_STEP(minimum, to, (b[i] < a[i] || b[i] != b[i]) ? b[i] : a[i])
  SHARDPROOF_STEP(eq, truth, a[i] == b[i])
  SHARDPROOF_STEP(ne, truth, a[i] != b[i])
  SHARDPROOF_STEP(lt, truth, a[i] < b[i])
  SHARDPROOF_STEP(gt, truth, a[i] > b[i])
  SHARDPROOF_STEP(le, truth, a[i] <= b[i])
  SHARDPROOF_STEP(ge, truth, a[i] >= b[i])
  return false;
}

void chosen(const Block<float>* const* x, Block<float>& result, int64_t n) {
  const int64_t* HWY_RESTRICT c = x[0]->integer;
  const float* HWY_RESTRICT a = x[1]->real;
  const float* HWY_RESTRICT b = x[2]->real;
  float* HWY_RESTRICT to = result.real;
  for (int64_t i = 0; i < n; ++i) to[i] = c[i] != 0 ? a[i] : b[i];
}

bool step(const PointwiseStep& step, const Block<float>* const* x, Block<float>& to, int64_t n) {
  if (!step.real) return false;
  if (step.fn == PointwiseFn::where) return chosen(x, to, n), true;
  if (step.arguments.size() == 1) return of_reals(step.fn, x, to, n);
  return step.arguments.size() == 2 && of_pairs(step.fn, x, to, n);
}

void load_bf16(float* HWY_RESTRICT to, const uint16_t* HWY_RESTRICT from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = static_cast<uint32_t>(from[i]) << 16;
    memcpy(to + i, &bits, sizeof bits);
  }
}

void store_bf16(uint16_t* HWY_RESTRICT to, const float* HWY_RESTRICT from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    memcpy(&bits, from + i, sizeof bits);
    const uint32_t up = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    to[i] = static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16) | 0x40 : up);
  }
}

[[maybe_unused]] const VectorSteps steps{step, load_bf16, store_bf16};

#undef SHARDPROOF_STEP

}  // namespace HWY_NAMESPACE
}  // namespace shardproof::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shardproof::cpu {

const VectorSteps* vector_steps([[maybe_unused]] Isa isa) {
#if HWY_TARGETS & HWY_AVX3
  if (isa >= Isa::v4) return &N_AVX3::steps;
#endif
#if HWY_TARGETS & HWY_AVX2
  if (isa == Isa::v3) return &N_AVX2::steps;
#endif
#if HWY_TARGETS & HWY_SSE4
  if (isa == Isa::v2) return &N_SSE4::steps;
#endif
  return nullptr;
}

}  // namespace shardproof::cpu
#endif
#endif
