#include <stdexcept>
#include <string>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loops.h"
#include "kernels/cuda/pointwise_fns.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

constexpr int most_read = 80, most_steps = 256;

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

/// Every thread reads the steps, and has the registers to itself.
template <class R>
struct ChainKernel {
  Loops<most_read + 1> loops;  ///< out, the inputs
  const void* inputs[most_read];
  Element elements[most_read];
  Step steps[most_steps];
  int read, length;
  void* out;
  Element output;
  Report report;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    each_of(block, loops.count, [&](int64_t i) {
      int64_t at[most_read + 1];
      loops.find(i, at, read + 1);
      Register<R> registers[most_read + most_steps];
      for (int k = 0; k < read; ++k)
        if (is_real(elements[k]))
          registers[k].real = load_real<R>(elements[k], inputs[k], at[k + 1]);
        else
          registers[k].integer = load_integer(elements[k], inputs[k], at[k + 1]);
      bool by_zero = false;
      for (int s = 0; s < length; ++s) registers[read + s] = result(steps[s], registers, by_zero);
      const Register<R> last = registers[read + length - 1];
      if (is_real(output))
        store_real(output, out, at[0], last.real);
      else
        store_integer(output, out, at[0], last.integer);
      if (by_zero) report.leave(Fault::division, 0, 0);
    });
  }

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

template <class R>
ChainKernel<R> chain_kernel(const Pointwise& op) {
  if (op.inputs.size() > most_read || op.steps.size() > most_steps)
    throw std::length_error("a chain of " + std::to_string(op.steps.size()) + " steps on " +
                            std::to_string(op.inputs.size()) + " inputs: the kernel has at most " +
                            std::to_string(most_steps) + " on " + std::to_string(most_read));
  ChainKernel<R> kernel;
  kernel.loops = loops_of<most_read + 1>(op.nest);
  kernel.read = static_cast<int>(op.inputs.size());
  kernel.length = static_cast<int>(op.steps.size());
  for (size_t k = 0; k < op.inputs.size(); ++k) kernel.elements[k] = op.inputs[k];
  for (size_t s = 0; s < op.steps.size(); ++s) {
    const PointwiseStep& from = op.steps[s];
    Step& step = kernel.steps[s];
    step = {from.fn, from.real, {}, from.value, fnv1a(from.tag)};
    for (size_t i = 0; i < from.arguments.size(); ++i)
      step.arguments[i] = static_cast<uint16_t>(from.arguments[i]);
  }
  kernel.output = op.output;
  return kernel;
}

template <class R>
void run_chain(const Stream& stream, const Pointwise& op, void* out, const void* const* inputs) {
  ChainKernel<R> kernel = chain_kernel<R>(op);
  for (size_t k = 0; k < op.inputs.size(); ++k) kernel.inputs[k] = inputs[k];
  kernel.out = out;
  kernel.report = report_to(stream);
  launch_each(stream, kernel.loops.count, kernel);
}

}  // namespace

void run(const Stream& stream, const Pointwise& op, void* out, const void* const* inputs) {
  if (op.f64)
    run_chain<double>(stream, op, out, inputs);
  else
    run_chain<float>(stream, op, out, inputs);
}

}  // namespace shardproof::SHARDPROOF_MACHINE
