#pragma once
// Interprets the steps of a fused pointwise op in a kernel.
#include "kernels/cuda/pointwise_fns.h"
#include "kernels/fnv1a.h"
#include "kernels/ops.h"

namespace shardproof::SHARDPROOF_MACHINE {

template <class R>
union Register {
  R real;
  int64_t integer;
};

struct WalkedStep {
  PointwiseFn fn;
  bool real;
  uint16_t arguments[3];
  double value;   ///< constant
  uint64_t hash;  ///< fold_tag
};

/// Computes one step: see Interpreter<R>::result.
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

  SHARDPROOF_DEVICE static Register<R> same(R value) { return real(value); }
  SHARDPROOF_DEVICE static Register<R> same(int64_t value) { return integer(value); }

  SHARDPROOF_DEVICE static Register<R> result(const WalkedStep& step, const Register<R>* registers,
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
      case PointwiseFn::to_boolean:
        return integer(step.real ? fn::to_boolean(a.real) : fn::to_boolean(a.integer));
      case PointwiseFn::round_f32:
        return real(fn::round_f32(a.real));
      case PointwiseFn::round_bf16:
        return real(fn::round_bf16(a.real));
      case PointwiseFn::fold:
        return integer(fn::fold(a.integer, b.integer));
      case PointwiseFn::fold_tag:
        return integer(fn::fold_tag(a.integer, step.hash));
#define SHARDPROOF_UNARY(id, ...) \
  case PointwiseFn::id:           \
    return step.real ? same(fn::id(a.real)) : integer(fn::id(a.integer));
#define SHARDPROOF_BINARY(id, ...)                  \
  case PointwiseFn::id:                             \
    return step.real ? same(fn::id(a.real, b.real)) \
                     : integer(fn::id(a.integer, b.integer, by_zero));
#include "spec/ir/pointwise.def"
    }
    return integer(0);
  }
};

inline WalkedStep step_of(const PointwiseStep& from) {
  WalkedStep step{from.fn, from.real, {}, from.value, fnv1a(from.tag)};
  for (size_t i = 0; i < from.arguments.size(); ++i)
    step.arguments[i] = static_cast<uint16_t>(from.arguments[i]);
  return step;
}

}  // namespace shardproof::SHARDPROOF_MACHINE
