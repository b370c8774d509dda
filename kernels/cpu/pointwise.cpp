#include "kernels/cpu/kernels.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "kernels/cpu/block.h"
#include "kernels/philox.h"

namespace shardproof::cpu {
namespace {

int64_t floor_divided(int64_t a, int64_t b) {
  if (b == 0) throw std::domain_error("an integer is divided by 0");
  const int64_t q = a / b;
  return (a % b != 0) && ((a < 0) != (b < 0)) ? q - 1 : q;
}

template <class R>
class Machine {
 public:
  Machine(const Pointwise& chain, void* out, const void* const* inputs)
      : chain_(chain),
        nest_(chain.nest),
        out_(out),
        inputs_(inputs),
        registers_(chain.inputs.size() + chain.steps.size()),
        repeated_(chain.inputs.size(), -1) {
    for (size_t i = 0; i < chain.steps.size(); ++i)
      if (chain.steps[i].fn == PointwiseFn::constant)
        step(chain.steps[i], registers_[chain.inputs.size() + i], block_size);
  }

  void run() {
    const int64_t n = nest_.inner();
    for_each_row(nest_, [&](const int64_t* at) {
      for (int64_t first = 0; first < n; first += block_size)
        block(at, first, std::min(block_size, n - first));
    });
  }

 private:
  void block(const int64_t* at, int64_t first, int64_t n) {
    const size_t inputs = chain_.inputs.size();
    for (size_t k = 0; k < inputs; ++k) {
      const int64_t stride = nest_.inner_stride(k + 1);
      if (stride == 0) {  // one entry, repeated: it may be there already
        if (repeated_[k] != at[k + 1])
          load(registers_[k], chain_.inputs[k], inputs_[k], at[k + 1], 0, block_size);
        repeated_[k] = at[k + 1];
      } else {
        load(registers_[k], chain_.inputs[k], inputs_[k], at[k + 1] + first * stride, stride, n);
      }
    }
    for (size_t i = 0; i < chain_.steps.size(); ++i)
      if (chain_.steps[i].fn != PointwiseFn::constant)
        step(chain_.steps[i], registers_[inputs + i], n);
    const int64_t stride = nest_.inner_stride(0);
    store(out_, chain_.output, at[0] + first * stride, stride, registers_.back(), n);
  }

  using Reals = Eigen::Map<Eigen::Array<R, Eigen::Dynamic, 1>, Eigen::Aligned64>;
  Reals reals(Block<R>& x, int64_t n) { return Reals(x.real, n); }
  Block<R>& arg(const PointwiseStep& step, size_t i) { return registers_[step.arguments[i]]; }

  void step(const PointwiseStep& step, Block<R>& to, int64_t n) {
    using enum PointwiseFn;
    switch (step.fn) {
      case constant:
        if (step.real)
          std::fill_n(to.real, n, static_cast<R>(step.value));
        else
          std::fill_n(to.integer, n, static_cast<int64_t>(step.value));
        return;
      case where:
        return choose(step, to, n);
      case to_real:
        for (int64_t i = 0; i < n; ++i) to.real[i] = static_cast<R>(arg(step, 0).integer[i]);
        return;
      case to_integer:
        for (int64_t i = 0; i < n; ++i) to.integer[i] = static_cast<int64_t>(arg(step, 0).real[i]);
        return;
      case to_boolean:
        for (int64_t i = 0; i < n; ++i)
          to.integer[i] = step.real ? arg(step, 0).real[i] != 0 : arg(step, 0).integer[i] != 0;
        return;
      case round_f32:
        for (int64_t i = 0; i < n; ++i) to.real[i] = static_cast<float>(arg(step, 0).real[i]);
        return;
      case round_bf16:
        for (int64_t i = 0; i < n; ++i)
          to.real[i] = bf16_to_f32(f32_to_bf16(static_cast<float>(arg(step, 0).real[i])));
        return;
      case fold:
      case fold_tag:
        for (int64_t i = 0; i < n; ++i) {
          const auto key = static_cast<uint64_t>(arg(step, 0).integer[i]);
          to.integer[i] = static_cast<int64_t>(
              step.fn == fold_tag
                  ? philox_fold(key, step.tag)
                  : philox_fold(key, static_cast<uint64_t>(arg(step, 1).integer[i])));
        }
        return;
      default:
        return step.arguments.size() == 1 ? unary(step, to, n) : binary(step, to, n);
    }
  }

  void choose(const PointwiseStep& step, Block<R>& to, int64_t n) {
    const int64_t* c = arg(step, 0).integer;
    const Block<R>&a = arg(step, 1), &b = arg(step, 2);
    for (int64_t i = 0; i < n; ++i) {
      if (step.real)
        to.real[i] = c[i] ? a.real[i] : b.real[i];
      else
        to.integer[i] = c[i] ? a.integer[i] : b.integer[i];
    }
  }

  void unary(const PointwiseStep& step, Block<R>& to, int64_t n) {
    if (!step.real) return unary_integer(step, to, n);
    using enum PointwiseFn;
    const Reals x = reals(arg(step, 0), n);
    Reals y = reals(to, n);
    switch (step.fn) {
      case neg:
        y = -x;
        return;
      case exp:
        y = x.exp();
        return;
      case log:
        y = x.log();
        return;
      case sqrt:
        y = x.sqrt();
        return;
      case rsqrt:
        y = R(1) / x.sqrt();
        return;
      case tanh:
        y = x.tanh();
        return;
      case sin:
        y = x.sin();
        return;
      case cos:
        y = x.cos();
        return;
      case abs:
        y = x.abs();
        return;
      case floor:
        y = x.floor();
        return;
      case erf:
        for (int64_t i = 0; i < n; ++i) y[i] = std::erf(x[i]);
        return;
      default:
        throw std::logic_error("no such function of one real");
    }
  }

  void unary_integer(const PointwiseStep& step, Block<R>& to, int64_t n) {
    const int64_t* x = arg(step, 0).integer;
    for (int64_t i = 0; i < n; ++i) switch (step.fn) {
        case PointwiseFn::neg:
          to.integer[i] = -x[i];
          break;
        case PointwiseFn::abs:
          to.integer[i] = x[i] < 0 ? -x[i] : x[i];
          break;
        case PointwiseFn::logical_not:
          to.integer[i] = x[i] == 0;
          break;
        case PointwiseFn::floor:
          to.integer[i] = x[i];
          break;
        default:
          throw std::logic_error("no such function of one integer");
      }
  }

  /// The type of a comparison's arguments is that of its operands; its result is 0 or 1.
  template <class T, class Fn>
  void compare(const T* a, const T* b, Block<R>& to, int64_t n, Fn fn) {
    for (int64_t i = 0; i < n; ++i) to.integer[i] = fn(a[i], b[i]);
  }

  template <class T>
  bool compared(PointwiseFn fn, const T* a, const T* b, Block<R>& to, int64_t n) {
    using enum PointwiseFn;
    switch (fn) {
      case eq:
        return compare(a, b, to, n, [](T x, T y) { return x == y; }), true;
      case ne:
        return compare(a, b, to, n, [](T x, T y) { return x != y; }), true;
      case lt:
        return compare(a, b, to, n, [](T x, T y) { return x < y; }), true;
      case gt:
        return compare(a, b, to, n, [](T x, T y) { return x > y; }), true;
      case le:
        return compare(a, b, to, n, [](T x, T y) { return x <= y; }), true;
      case ge:
        return compare(a, b, to, n, [](T x, T y) { return x >= y; }), true;
      case logical_and:
        return compare(a, b, to, n, [](T x, T y) { return x != 0 && y != 0; }), true;
      case logical_or:
        return compare(a, b, to, n, [](T x, T y) { return x != 0 || y != 0; }), true;
      default:
        return false;
    }
  }

  void binary(const PointwiseStep& step, Block<R>& to, int64_t n) {
    Block<R>&left = arg(step, 0), &right = arg(step, 1);
    if (!step.real) {
      if (!compared(step.fn, left.integer, right.integer, to, n)) binary_integer(step, to, n);
      return;
    }
    if (compared(step.fn, left.real, right.real, to, n)) return;
    using enum PointwiseFn;
    const Reals a = reals(left, n), b = reals(right, n);
    Reals y = reals(to, n);
    switch (step.fn) {
      case add:
        y = a + b;
        return;
      case sub:
        y = a - b;
        return;
      case mul:
        y = a * b;
        return;
      case div:
        y = a / b;
        return;
      case floordiv:
        y = (a / b).floor();
        return;
      case mod:
        y = a - b * (a / b).floor();
        return;
      case maximum:  // a NaN on either side stays
        for (int64_t i = 0; i < n; ++i) y[i] = a[i] < b[i] || b[i] != b[i] ? b[i] : a[i];
        return;
      case minimum:
        for (int64_t i = 0; i < n; ++i) y[i] = b[i] < a[i] || b[i] != b[i] ? b[i] : a[i];
        return;
      case pow:
        for (int64_t i = 0; i < n; ++i) y[i] = std::pow(a[i], b[i]);
        return;
      default:
        throw std::logic_error("no such function of two reals");
    }
  }

  void binary_integer(const PointwiseStep& step, Block<R>& to, int64_t n) {
    using enum PointwiseFn;
    const int64_t *a = arg(step, 0).integer, *b = arg(step, 1).integer;
    auto each = [&](auto fn) {
      for (int64_t i = 0; i < n; ++i) to.integer[i] = fn(a[i], b[i]);
    };
    switch (step.fn) {
      case add:
        return each([](int64_t x, int64_t y) { return x + y; });
      case sub:
        return each([](int64_t x, int64_t y) { return x - y; });
      case mul:
        return each([](int64_t x, int64_t y) { return x * y; });
      case floordiv:
        return each(floor_divided);
      case mod:
        return each([](int64_t x, int64_t y) { return x - y * floor_divided(x, y); });
      case maximum:
        return each([](int64_t x, int64_t y) { return std::max(x, y); });
      case minimum:
        return each([](int64_t x, int64_t y) { return std::min(x, y); });
      default:
        throw std::logic_error("no such function of two integers");
    }
  }

  const Pointwise& chain_;
  const Nest& nest_;
  void* out_;
  const void* const* inputs_;
  std::vector<Block<R>> registers_;
  std::vector<int64_t> repeated_;  ///< by input: the entry that its register is full of
};

}  // namespace

void run(const Pointwise& op, void* out, const void* const* inputs) {
  if (op.f64)
    Machine<double>(op, out, inputs).run();
  else
    Machine<float>(op, out, inputs).run();
}

}  // namespace shardproof::cpu
