// Highway's foreach_target compiles this file once per instruction level, each in its own
// namespace. log, log1p, expm1, sin and cos are Highway's. Only Highway's headers are used: isa.h
// chooses the level.
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
#include "kernels/cpu/vector_rows.h"

HWY_BEFORE_NAMESPACE();
namespace shardproof::cpu {
namespace HWY_NAMESPACE {

struct Same {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return x;
  }
};

/// In full vectors: blocks have room for them.
template <class End, class Fn>
HWY_INLINE bool mapped(int64_t n, Block<float>& to, End end, Fn fn, const Block<float>& x) {
  const Floats d;
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::Store(end(d, fn(d, hn::Load(d, x.real + i))), d, to.real + i);
  return true;
}
template <class End, class Fn>
HWY_INLINE bool mapped(int64_t n, Block<float>& to, End end, Fn fn, const Block<float>& a,
                       const Block<float>& b) {
  const Floats d;
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::Store(end(d, fn(d, hn::Load(d, a.real + i), hn::Load(d, b.real + i))), d, to.real + i);
  return true;
}

struct Exp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp_of(d, x);
  }
};
/// x P(x^2) / Q(x^2), which is 1 in f32 at the clamp. The coefficients are those of Eigen 3.4
/// (generic_fast_tanh_float in MathFunctionsImpl.h).
struct Tanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V most = hn::Set(d, HWY_NATIVE_FMA ? 7.99881172180175781f : 7.90531110763549805f);
    const V y = hn::Max(hn::Min(x, most), hn::Neg(most)), square = hn::Mul(y, y);
    V p = hn::Set(d, -2.76076847742355e-16f), q = hn::Set(d, 1.19825839466702e-06f);
    for (const float next : {2.00018790482477e-13f, -8.60467152213735e-11f, 5.12229709037114e-08f,
                             1.48572235717979e-05f, 6.37261928875436e-04f, 4.89352455891786e-03f})
      p = hn::MulAdd(p, square, hn::Set(d, next));
    for (const float next : {1.18534705686654e-04f, 2.26843463243900e-03f, 4.89352518554385e-03f})
      q = hn::MulAdd(q, square, hn::Set(d, next));
    const auto itself = hn::Or(hn::Lt(hn::Abs(x), hn::Set(d, 0.0004f)), hn::IsNaN(x));
    return hn::IfThenElse(itself, x, hn::Div(hn::Mul(y, p), q));
  }
};
/// x + x P(x^2) near 0, else 1 - exp(t Q(t)) with t = |x|: least maximal errors, relative to erf,
/// on [0, 15/16] and [15/16, 4], fitted to P(x^2) = erf(x) / x - 1 and t Q(t) = log(1 - erf(t)).
struct Erf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V size = hn::Abs(x), square = hn::Mul(x, x), t = hn::Min(size, hn::Set(d, 4.0f));
    V p = hn::Set(d, 8.00027192e-05f), q = hn::Set(d, -1.18887046e-05f);
    for (const float next : {-0.000805038377f, 0.00519243814f, -0.026855737f, 0.112836257f,
                             -0.376126289f, 0.128379166f})
      p = hn::MulAdd(p, square, hn::Set(d, next));
    for (const float next : {0.000329408474f, -0.00366942119f, 0.0238193329f, -0.10630367f,
                             -0.635110736f, -1.12865853f})
      q = hn::MulAdd(q, t, hn::Set(d, next));
    const V rest = hn::Sub(hn::Set(d, 1.0f), exp_of_negative(d, hn::Mul(t, q)));
    const auto near = hn::Or(hn::Lt(size, hn::Set(d, 0.9375f)), hn::IsNaN(x));
    return hn::IfThenElse(near, hn::MulAdd(x, p, x), hn::CopySign(rest, x));
  }
};
/// `y`, the log of `x` if that is a positive number. A NaN made here is that of arithmetic, which
/// Nearest keeps: Highway's has all bits.
template <class D, class V>
HWY_INLINE V of_log(D d, V x, V y) {
  const V infinite = hn::Inf(d);
  const V finite = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinite), y);
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), hn::IfThenElse(hn::Eq(x, infinite), x, finite),
                        hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
}
struct Log {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return of_log(d, x, hn::Log(d, x));
  }
};
struct Log1p {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return of_log(d, hn::Add(x, hn::Set(d, 1.0f)), hn::Log1p(d, x));
  }
};
struct Expm1 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Expm1(d, hn::Min(x, hn::Set(d, 89.0f))));
  }
};
#define SHARDPROOF_FUNCTION(name, parameters, value) \
  struct name {                                      \
    template <class D, class V>                      \
    HWY_INLINE V operator() parameters const {       \
      return value;                                  \
    }                                                \
  };
SHARDPROOF_FUNCTION(Sin, (D d, V x), sin_of(d, x))
SHARDPROOF_FUNCTION(Cos, (D d, V x), cos_of(d, x))
SHARDPROOF_FUNCTION(Neg, (D, V x), hn::Neg(x))
SHARDPROOF_FUNCTION(Abs, (D, V x), hn::Abs(x))
SHARDPROOF_FUNCTION(Sqrt, (D, V x), hn::Sqrt(x))
SHARDPROOF_FUNCTION(InverseSqrt, (D d, V x), hn::Div(hn::Set(d, 1.0f), hn::Sqrt(x)))
SHARDPROOF_FUNCTION(Add, (D, V a, V b), hn::Add(a, b))
SHARDPROOF_FUNCTION(Sub, (D, V a, V b), hn::Sub(a, b))
SHARDPROOF_FUNCTION(Mul, (D, V a, V b), hn::Mul(a, b))
SHARDPROOF_FUNCTION(Div, (D, V a, V b), hn::Div(a, b))
SHARDPROOF_FUNCTION(Most, (D, V a, V b), hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(b)), b, a))
SHARDPROOF_FUNCTION(Least, (D, V a, V b), hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a))
#undef SHARDPROOF_FUNCTION
struct Logistic {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V one = hn::Set(d, 1.0f);
    return hn::Div(one, hn::Add(one, exp_of(d, hn::Neg(x))));
  }
};

template <class End>
bool of_one(PointwiseFn fn, const Block<float>& x, Block<float>& to, int64_t n, End end) {
#define SHARDPROOF_STEP(name, Fn, Then) \
  if (fn == PointwiseFn::name) return mapped(n, to, Then, Fn(), x);
  SHARDPROOF_STEP(neg, Neg, end)
  SHARDPROOF_STEP(abs, Abs, end)
  SHARDPROOF_STEP(exp, Exp, end)
  SHARDPROOF_STEP(tanh, Tanh, end)
  SHARDPROOF_STEP(erf, Erf, end)
  SHARDPROOF_STEP(log, Log, end)
  SHARDPROOF_STEP(log1p, Log1p, end)
  SHARDPROOF_STEP(expm1, Expm1, end)
  SHARDPROOF_STEP(sin, Sin, end)
  SHARDPROOF_STEP(cos, Cos, end)
  SHARDPROOF_STEP(sqrt, Sqrt, end)
  SHARDPROOF_STEP(rsqrt, InverseSqrt, end)
  SHARDPROOF_STEP(round_f32, Same, end)
  SHARDPROOF_STEP(round_bf16, Narrow, Same())
#undef SHARDPROOF_STEP
  return false;
}

template <class End>
bool of_two(PointwiseFn fn, const Block<float>& a, const Block<float>& b, Block<float>& to,
            int64_t n, End end) {
#define SHARDPROOF_STEP(name, Fn) \
  if (fn == PointwiseFn::name) return mapped(n, to, end, Fn(), a, b);
  SHARDPROOF_STEP(add, Add)
  SHARDPROOF_STEP(sub, Sub)
  SHARDPROOF_STEP(mul, Mul)
  SHARDPROOF_STEP(div, Div)
  SHARDPROOF_STEP(maximum, Most)
  SHARDPROOF_STEP(minimum, Least)
#undef SHARDPROOF_STEP
  return false;
}

bool compared(PointwiseFn fn, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
              int64_t* HWY_RESTRICT to, int64_t n) {
#define SHARDPROOF_STEP(name, symbol)                         \
  if (fn == PointwiseFn::name) {                              \
    for (int64_t i = 0; i < n; ++i) to[i] = a[i] symbol b[i]; \
    return true;                                              \
  }
  SHARDPROOF_STEP(eq, ==)
  SHARDPROOF_STEP(ne, !=)
  SHARDPROOF_STEP(lt, <)
  SHARDPROOF_STEP(gt, >)
  SHARDPROOF_STEP(le, <=)
  SHARDPROOF_STEP(ge, >=)
#undef SHARDPROOF_STEP
  return false;
}

void chosen(const Block<float>* const* x, Block<float>& result, int64_t n) {
  const int64_t* HWY_RESTRICT c = x[0]->integer;
  const float* a = x[1]->real;
  const float* b = x[2]->real;
  float* to = result.real;
  for (int64_t i = 0; i < n; ++i) to[i] = c[i] != 0 ? a[i] : b[i];
}

template <class End>
bool step_then(const PointwiseStep& step, const Block<float>* const* x, Block<float>& to, int64_t n,
               End end) {
  if (step.arguments.size() == 1) return of_one(step.fn, *x[0], to, n, end);
  return step.arguments.size() == 2 && of_two(step.fn, *x[0], *x[1], to, n, end);
}

/// work(what is done with each result).
template <class Work>
bool ended(Rounding rounding, Work work) {
  if (rounding == Rounding::bf16) return work(Narrow());
  if (rounding == Rounding::bf16_of_narrow_nans) return work(Nearest());
  return work(Same());
}

bool step(const PointwiseStep& step, const Block<float>* const* x, Block<float>& to, int64_t n,
          Rounding rounding) {
  if (!step.real) return false;
  const bool rounds = rounding != Rounding::none;
  if (step.fn == PointwiseFn::where && !rounds) return chosen(x, to, n), true;
  return ended(rounding, [&](auto end) HWY_ATTR { return step_then(step, x, to, n, end); }) ||
         (step.arguments.size() == 2 && !rounds &&
          compared(step.fn, x[0]->real, x[1]->real, to.integer, n));
}

void logistic(const Block<float>& x, Block<float>& to, int64_t n, Rounding rounding) {
  ended(rounding, [&](auto end) HWY_ATTR { return mapped(n, to, end, Logistic(), x); });
}

/// Rows of `from`, each of n entries and one after the other, to rows of `to`.
template <class To, class From>
HWY_INLINE void move_rows(To* to, int64_t to_stride, const From* from, int64_t from_stride,
                          int64_t count, int64_t n) {
  for (int64_t r = 0; r < count; ++r) {
    To* into = to + r * to_stride;
    const From* row = from + r * from_stride;
    for_each_vector(n,
                    [=](auto d, int64_t i) HWY_ATTR { stored(d, loaded(d, row + i), into + i); });
  }
}

void load_rows_f32(float* to, const float* from, const PackedRows& rows) {
  move_rows(to, rows.n, from, rows.stride, rows.count, rows.n);
}
void load_rows_bf16(float* to, const uint16_t* from, const PackedRows& rows) {
  move_rows(to, rows.n, from, rows.stride, rows.count, rows.n);
}
void look_up_rows(float* to, const float* table, const uint16_t* from, const PackedRows& rows) {
  for (int64_t r = 0; r < rows.count; ++r) {
    float* into = to + r * rows.n;
    const uint16_t* row = from + r * rows.stride;
    for_each_vector(rows.n, [=](auto d, int64_t i) HWY_ATTR {
      const hn::RebindToSigned<decltype(d)> whole;
      const hn::Rebind<uint16_t, decltype(d)> narrow;
      const auto at = hn::PromoteTo(whole, hn::LoadU(narrow, row + i));
      hn::StoreU(hn::GatherIndex(d, table, at), d, into + i);
    });
  }
}
void store_rows_f32(float* to, const float* from, const PackedRows& rows) {
  move_rows(to, rows.stride, from, rows.n, rows.count, rows.n);
}
void store_rows_bf16(uint16_t* to, const float* from, const PackedRows& rows) {
  move_rows(to, rows.stride, from, rows.n, rows.count, rows.n);
}

[[maybe_unused]] const VectorSteps steps{
    step, logistic, load_rows_f32, load_rows_bf16, look_up_rows, store_rows_f32, store_rows_bf16};

}  // namespace HWY_NAMESPACE
}  // namespace shardproof::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/at_level.h"

namespace shardproof::cpu {

const VectorSteps* vector_steps([[maybe_unused]] Isa isa) {
  SHARDPROOF_RETURN_AT_LEVEL(isa, steps);
}

}  // namespace shardproof::cpu
#endif
#endif
