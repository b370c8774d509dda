#pragma once
// The steps of a chain as a kernel walks them at run time.
#include "kernels/cuda/pointwise_fns.h"
#include "kernels/fnv1a.h"
#include "kernels/ops.h"

namespace shardproof::SHARDPROOF_MACHINE {

template <class R>
union Register {
  R real;
  int64_t integer;
};

struct Step {
  PointwiseFn fn;
  bool real;
  uint16_t arguments[3];
  double value;   ///< constant
  uint64_t hash;  ///< fold_tag
};

/// What a step writes: Interpreter<R>::result.
template <class R>
struct Interpreter {
  SHARDPROOF_DEVICE static Register<R> real(R value) {
    Register<R> to;
    to.real = value;
    return to;
  }
  SHARDPROOF_DEVICE static Register<R> integer(int64_t value) {
    Register<R> to;
    to.integer = value;
    return to;
  }

  SHARDPROOF_DEVICE static Register<R> result(const Step& step, const Register<R>* registers,
                                              bool& by_zero) {
    const Register<R>&a = registers[step.arguments[0]], &b = registers[step.arguments[1]],
          &c = registers[step.arguments[2]];
    switch (step.fn) {
      case PointwiseFn::constant:
        return step.real ? real(static_cast<R>(step.value))
                         : integer(static_cast<int64_t>(step.value));
      case PointwiseFn::where:
        return step.real ? real(fn::where(a.integer, b.real, c.real))
                         : integer(fn::where(a.integer, b.integer, c.integer));
      case PointwiseFn::to_real:
        return real(fn::to_real<R>(a.integer));
      case PointwiseFn::to_integer:
        return integer(fn::to_integer(a.real));
      case PointwiseFn::fold:
        return integer(fn::fold(a.integer, b.integer));
      case PointwiseFn::fold_tag:
        return integer(fn::fold_tag(a.integer, step.hash));
      default:
        return step.real ? of_reals(step.fn, a.real, b.real, by_zero)
                         : of_any(step.fn, a.integer, b.integer, by_zero);
    }
  }

  SHARDPROOF_DEVICE static Register<R> of_reals(PointwiseFn fn, R a, R b, bool& by_zero) {
    switch (fn) {
      case PointwiseFn::exp:
        return real(fn::exp(a));
      case PointwiseFn::log:
        return real(fn::log(a));
      case PointwiseFn::sqrt:
        return real(fn::sqrt(a));
      case PointwiseFn::rsqrt:
        return real(fn::rsqrt(a));
      case PointwiseFn::tanh:
        return real(fn::tanh(a));
      case PointwiseFn::erf:
        return real(fn::erf(a));
      case PointwiseFn::sin:
        return real(fn::sin(a));
      case PointwiseFn::cos:
        return real(fn::cos(a));
      case PointwiseFn::div:
        return real(fn::div(a, b));
      case PointwiseFn::pow:
        return real(fn::pow(a, b));
      case PointwiseFn::round_f32:
        return real(fn::round_f32(a));
      case PointwiseFn::round_bf16:
        return real(fn::round_bf16(a));
      default:
        return of_any(fn, a, b, by_zero);
    }
  }

  SHARDPROOF_DEVICE static Register<R> same(R value) { return real(value); }
  SHARDPROOF_DEVICE static Register<R> same(int64_t value) { return integer(value); }

  /// T: R or int64_t.
  template <class T>
  SHARDPROOF_DEVICE static Register<R> of_any(PointwiseFn fn, T a, T b, bool& by_zero) {
    switch (fn) {
      case PointwiseFn::neg:
        return same(fn::neg(a));
      case PointwiseFn::abs:
        return same(fn::abs(a));
      case PointwiseFn::floor:
        return same(fn::floor(a));
      case PointwiseFn::add:
        return same(fn::add(a, b));
      case PointwiseFn::sub:
        return same(fn::sub(a, b));
      case PointwiseFn::mul:
        return same(fn::mul(a, b));
      case PointwiseFn::floordiv:
        return same(fn::floordiv(a, b, by_zero));
      case PointwiseFn::mod:
        return same(fn::mod(a, b, by_zero));
      case PointwiseFn::maximum:
        return same(fn::maximum(a, b));
      case PointwiseFn::minimum:
        return same(fn::minimum(a, b));
      default:
        return integer(truth(fn, a, b));
    }
  }

  template <class T>
  SHARDPROOF_DEVICE static int64_t truth(PointwiseFn fn, T a, T b) {
    switch (fn) {
      case PointwiseFn::eq:
        return fn::eq(a, b);
      case PointwiseFn::ne:
        return fn::ne(a, b);
      case PointwiseFn::lt:
        return fn::lt(a, b);
      case PointwiseFn::gt:
        return fn::gt(a, b);
      case PointwiseFn::le:
        return fn::le(a, b);
      case PointwiseFn::ge:
        return fn::ge(a, b);
      case PointwiseFn::logical_and:
        return fn::logical_and(a, b);
      case PointwiseFn::logical_or:
        return fn::logical_or(a, b);
      case PointwiseFn::logical_not:
        return fn::eq(a, T(0));
      default:  // to_boolean
        return fn::to_boolean(a);
    }
  }
};

inline Step step_of(const PointwiseStep& from) {
  Step step{from.fn, from.real, {}, from.value, fnv1a(from.tag)};
  for (size_t i = 0; i < from.arguments.size(); ++i)
    step.arguments[i] = static_cast<uint16_t>(from.arguments[i]);
  return step;
}

}  // namespace shardproof::SHARDPROOF_MACHINE
