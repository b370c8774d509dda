// Vector loops over rows of floats. Files that Highway's foreach_target compiles include it once
// per instruction level, hence this include guard.
#if defined(SHARDPROOF_VECTOR_ROWS) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARDPROOF_VECTOR_ROWS
#undef SHARDPROOF_VECTOR_ROWS
#else
#define SHARDPROOF_VECTOR_ROWS
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/isa.h"

HWY_BEFORE_NAMESPACE();
namespace shardproof::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Four = hn::CappedTag<float, 4>;
using One = hn::CappedTag<float, 1>;

/// Calls `each` with a tag and the index of a vector's first entry, from entry i on: in vectors of
/// four entries, then single ones.
template <class Each>
HWY_INLINE void for_each_rest(int64_t i, int64_t n, Each each) {
  for (; i + 4 <= n; i += 4) each(Four(), i);
  for (; i < n; ++i) each(One(), i);
}

/// The same from entry 0 on, in full vectors first.
template <class Each>
HWY_INLINE void for_each_vector(int64_t n, Each each) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) each(d, i);
  for_each_rest(i, n, each);
}

/// The sum of term(tag, first entry): in f32 in lanes of at most 8 terms, then in double.
template <class Term>
HWY_INLINE float sum_of(int64_t n, Term term) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  double total = 0;
  int64_t i = 0;
  while (i + 4 * lanes <= n) {
    auto a = hn::Zero(d), b = a, c = a, e = a;
    for (int k = 0; k < 8 && i + 4 * lanes <= n; ++k, i += 4 * lanes) {
      a = hn::Add(a, term(d, i));
      b = hn::Add(b, term(d, i + lanes));
      c = hn::Add(c, term(d, i + 2 * lanes));
      e = hn::Add(e, term(d, i + 3 * lanes));
    }
    total += hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  }
  auto rest = hn::Zero(d);
  for (; i + lanes <= n; i += lanes) rest = hn::Add(rest, term(d, i));
  total += hn::GetLane(hn::SumOfLanes(d, rest));
  for_each_rest(i, n, [&](auto some, int64_t at) HWY_ATTR {
    total += hn::GetLane(hn::SumOfLanes(some, term(some, at)));
  });
  return static_cast<float>(total);
}

/// May ignore a NaN.
HWY_INLINE float largest_of(const float* x, int64_t n) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float least = -std::numeric_limits<float>::infinity();
  auto a = hn::Set(d, least), b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Max(a, hn::LoadU(d, x + i));
    b = hn::Max(b, hn::LoadU(d, x + i + lanes));
    c = hn::Max(c, hn::LoadU(d, x + i + 2 * lanes));
    e = hn::Max(e, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Max(a, hn::LoadU(d, x + i));
  float most = hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(a, b), hn::Max(c, e))));
  for (; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

/// The p of exp(x) = p * 2^n, where x = n ln 2 + r, with ln 2 in two parts; the polynomial of
/// exp(r) is that of expf in the Cephes Mathematical Library (S. L. Moshier).
template <class D, class V>
HWY_INLINE V power_of(D d, V x, V& n) {
  const V whole = hn::Set(d, 12582912.0f);  // 1.5 * 2^23: a sum with it has no fraction
  n = hn::Sub(hn::MulAdd(x, hn::Set(d, 1.44269504088896341f), whole), whole);
  const V r =
      hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x));
  V p = hn::Set(d, 1.9875691500e-4f);
  for (const float next :
       {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    p = hn::MulAdd(p, r, hn::Set(d, next));
  return hn::MulAdd(p, hn::Mul(r, r), hn::Add(r, hn::Set(d, 1.0f)));
}

#if HWY_TARGET == HWY_AVX3
HWY_INLINE auto scaled(hn::Vec512<float> p, hn::Vec512<float> n) {
  return hn::Vec512<float>{_mm512_scalef_ps(p.raw, n.raw)};
}
template <size_t lanes>
HWY_INLINE auto scaled(hn::Vec128<float, lanes> p, hn::Vec128<float, lanes> n) {
  return hn::Vec128<float, lanes>{_mm_scalef_ps(p.raw, n.raw)};
}
template <class V>
HWY_INLINE V scaled_to_normal(V p, V n) {
  return scaled(p, n);
}
#else
/// p * 2^n in two factors of 2: each, and the first product, is a normal number.
template <class V>
HWY_INLINE V scaled(V p, V n) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> whole;
  const auto all = hn::ConvertTo(whole, n), half = hn::ShiftRight<1>(all);
  const auto factor = [=](auto of) HWY_ATTR {
    return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(of, hn::Set(whole, 127))));
  };
  return hn::Mul(hn::Mul(p, factor(half)), factor(hn::Sub(all, half)));
}
/// p * 2^n, which is a normal number, or a NaN as p is.
template <class V>
HWY_INLINE V scaled_to_normal(V p, V n) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> whole;
  const auto exponent = hn::ShiftLeft<23>(hn::ConvertTo(whole, n));
  return hn::IfThenElse(hn::IsNaN(p), p, hn::BitCast(d, hn::Add(hn::BitCast(whole, p), exponent)));
}
#endif

/// exp(x) within 2 ulp. NaN stays NaN.
template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  const V most = hn::Set(d, 89.0f), least = hn::Set(d, -104.0f);
  V n;
  const V p = power_of(d, hn::Max(hn::Min(x, most), least), n);
  return hn::IfThenElse(hn::IsNaN(x), x, scaled(p, n));
}

/// exp(x) of x <= 0, within 2 ulp, in fewer instructions: 0 below -87.3, where the result is
/// subnormal. NaN stays NaN.
template <class D, class V>
HWY_INLINE V exp_of_negative(D d, V x) {
  V n;
  const V p = power_of(d, x, n);
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3f)), scaled_to_normal(p, n));
}

/// sin or cos by `of_vector`, a function of Highway, which is made for angles up to 39000; by
/// `of_one` of an angle that is larger, infinite or NaN. No lane changes another one's bits.
template <class D, class V, class OfVector, class OfOne>
HWY_INLINE V turned(D d, V angle, OfVector of_vector, OfOne of_one) {
  const V turned = of_vector(d, angle);
  const auto small = hn::Lt(hn::Abs(angle), hn::Set(d, 39000.0f));
  if (HWY_LIKELY(hn::AllTrue(d, small))) return turned;
  HWY_ALIGN float each[hn::MaxLanes(d)];
  hn::Store(angle, d, each);
  for (float& x : each) x = of_one(x);
  return hn::IfThenElse(small, turned, hn::Load(d, each));
}
template <class D, class V>
HWY_INLINE V sin_of(D d, V angle) {
  return turned(
      d, angle, [](auto of, auto x) HWY_ATTR { return hn::Sin(of, x); },
      [](float x) { return std::sin(x); });
}
template <class D, class V>
HWY_INLINE V cos_of(D d, V angle) {
  return turned(
      d, angle, [](auto of, auto x) HWY_ATTR { return hn::Cos(of, x); },
      [](float x) { return std::cos(x); });
}

/// Bits whose upper half is the nearest bf16, ties to even. A NaN needs all its bits in that half.
template <class D, class V>
HWY_INLINE auto to_nearest(D, V x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  return hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fff)));
}
struct Nearest {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::And(to_nearest(d, x), hn::Set(du, 0xffff0000)));
  }
};
/// The nearest bf16, ties to even; NaN stays NaN.
struct Narrow {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const hn::RebindToUnsigned<D> du;
    const auto quiet = hn::Or(hn::BitCast(du, x), hn::Set(du, 0x400000));
    const auto either = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)), quiet, to_nearest(d, x));
    return hn::BitCast(d, hn::And(either, hn::Set(du, 0xffff0000)));
  }
};
/// The same bits with AVX-512-BF16, unless an entry is subnormal: the processor would take it as 0.
template <class V>
HWY_INLINE bool stored_by_processor(V, uint16_t*) {
  return false;
}
#if HWY_TARGET == HWY_AVX3
HWY_INLINE bool stored_by_processor(hn::Vec512<float> x, uint16_t* to) {
  constexpr int subnormal = 0x20;
  if (!rounds_to_bf16.load(std::memory_order_relaxed) ||
      _mm512_fpclass_ps_mask(x.raw, subnormal) != 0)
    return false;
  __m256i narrow;
  // Not the intrinsic: Highway's level does not have this instruction.
  asm("vcvtneps2bf16 %1, %0" : "=v"(narrow) : "v"(x.raw));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), narrow);
  return true;
}
#endif

/// A vector of an array of f32 or bf16.
template <class D>
HWY_INLINE auto loaded(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE auto loaded(D d, const uint16_t* from) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> narrow;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(narrow, from))));
}
template <class D, class V>
HWY_INLINE void stored(D d, V x, float* to) {
  hn::StoreU(x, d, to);
}
template <class D, class V>
HWY_INLINE void stored(D d, V x, uint16_t* to) {
  if (stored_by_processor(x, to)) return;
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> narrow;
  const auto bits = hn::ShiftRight<16>(hn::BitCast(du, Narrow()(d, x)));
  hn::StoreU(hn::TruncateTo(narrow, bits), narrow, to);
}

HWY_INLINE void widen(float* to, const uint16_t* from, int64_t n) {
  for_each_vector(n, [=](auto d, int64_t i) HWY_ATTR { stored(d, loaded(d, from + i), to + i); });
}

/// The largest entry of a row, and the sum of exp(x - largest).
struct Stats {
  float largest, sum;
};

HWY_INLINE Stats stats_of(const float* x, int64_t length) {
  const float most = largest_of(x, length);
  return {most, sum_of(length, [x, most, length](auto d, int64_t i) HWY_ATTR {
            __builtin_prefetch(x + length + i);  // the next row
            return exp_of_negative(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, most)));
          })};
}

}  // namespace HWY_NAMESPACE
}  // namespace shardproof::cpu
HWY_AFTER_NAMESPACE();
#endif
