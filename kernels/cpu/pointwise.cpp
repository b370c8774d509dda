#include "kernels/cpu/kernels.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "kernels/cpu/block.h"
#include "kernels/cpu/threads.h"
#include "kernels/cpu/vector_steps.h"
#include "kernels/philox.h"

namespace shardproof::cpu {
namespace {

constexpr int64_t none = 0;  ///< undefined for integers

/// Sets by_zero if b is 0.
int64_t floor_divided(int64_t a, int64_t b, bool& by_zero) {
  if (b == 0) return by_zero = true, 0;
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
      if (stride == 0) {  // one repeated entry: the register may already hold it
        if (repeated_[k] != at[k + 1])
          load(registers_[k], chain_.inputs[k], inputs_[k], at[k + 1], 0, block_size);
        repeated_[k] = at[k + 1];
      } else {
        take(k, at[k + 1] + first * stride, stride, n);
      }
    }
    for (size_t i = 0; i < chain_.steps.size(); ++i)
      if (chain_.steps[i].fn != PointwiseFn::constant)
        step(chain_.steps[i], registers_[inputs + i], n);
    const int64_t stride = nest_.inner_stride(0);
    give(at[0] + first * stride, stride, n);
  }

  /// Loads n entries of input k, starting at `at`.
  void take(size_t k, int64_t at, int64_t stride, int64_t n) {
    if constexpr (std::is_same_v<R, float>)
      if (vectors_ && chain_.inputs[k] == Element::bf16 && stride == 1)
        return vectors_->load_bf16(registers_[k].real,
                                   static_cast<const uint16_t*>(inputs_[k]) + at, n);
    load(registers_[k], chain_.inputs[k], inputs_[k], at, stride, n);
  }
  /// Stores n entries of the result, starting at `at`.
  void give(int64_t at, int64_t stride, int64_t n) {
    if constexpr (std::is_same_v<R, float>)
      if (vectors_ && chain_.output == Element::bf16 && stride == 1)
        return vectors_->store_bf16(static_cast<uint16_t*>(out_) + at, registers_.back().real, n);
    store(out_, chain_.output, at, stride, registers_.back(), n);
  }

  bool is_vector_step(const PointwiseStep& step, Block<R>& to, int64_t n) {
    if constexpr (std::is_same_v<R, float>) {
      const Block<float>* arguments[3] = {};
      if (!vectors_ || step.arguments.empty() || step.arguments.size() > 3) return false;
      for (size_t i = 0; i < step.arguments.size(); ++i) arguments[i] = &arg(step, i);
      return vectors_->step(step, arguments, to, n);
    }
    return false;
  }

  using Reals = Eigen::Map<Eigen::Array<R, Eigen::Dynamic, 1>, Eigen::Aligned64>;
  Reals reals(Block<R>& x, int64_t n) { return Reals(x.real, n); }
  Block<R>& arg(const PointwiseStep& step, size_t i) { return registers_[step.arguments[i]]; }

  void step(const PointwiseStep& step, Block<R>& to, int64_t n) {
    using enum PointwiseFn;
    if (is_vector_step(step, to, n)) return;
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
          to.real[i] = rounded_to_bf16(static_cast<float>(arg(step, 0).real[i]));
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
#define LIBM(name, ...) std::name(__VA_ARGS__)
#define SHARDPROOF_UNARY(id, text, takes, gives, domain, least, roles, strict, bits, grows, value, \
                         integer_value, block, exact, algebra, pull)                               \
  case PointwiseFn::id:                                                                            \
    if (step.real) {                                                                               \
      const Reals x = reals(arg(step, 0), n);                                                      \
      [[maybe_unused]] const auto each = [](R x) -> R { return value; };                           \
      return put(gives(), to, n, block);                                                           \
    }                                                                                              \
    return wholes(step, to, n, [](int64_t x) -> int64_t { return (void)x, integer_value; });
#define SHARDPROOF_BINARY(id, text, binds, takes, gives, role_a, role_b, strict, bits, value,  \
                          integer_value, exact, algebra, pull_a, pull_b)                       \
  case PointwiseFn::id:                                                                        \
    if (step.real) return pairs(values(gives(), to), step, n, [](R a, R b) { return value; }); \
    return whole_pairs(step, to, n, [](int64_t a, int64_t b, bool& by_zero) -> int64_t {       \
      return (void)a, (void)b, (void)by_zero, integer_value;                                   \
    });
#include "spec/ir/pointwise.def"
#undef LIBM
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

  /// The type of the results: bools are integers.
  struct same {};
  struct truth {};
  static R* values(same, Block<R>& to) { return to.real; }
  static int64_t* values(truth, Block<R>& to) { return to.integer; }

  template <class Entries>
  void put(same, Block<R>& to, int64_t n, const Entries& entries) {
    reals(to, n) = entries;
  }
  template <class Entries>
  void put(truth, Block<R>& to, int64_t n, const Entries& entries) {
    for (int64_t i = 0; i < n; ++i) to.integer[i] = entries.coeff(i) != 0;
  }

  template <class To, class Fn>
  void pairs(To* to, const PointwiseStep& step, int64_t n, Fn fn) {
    const R *a = arg(step, 0).real, *b = arg(step, 1).real;
    for (int64_t i = 0; i < n; ++i) to[i] = fn(a[i], b[i]);
  }
  template <class Fn>
  void wholes(const PointwiseStep& step, Block<R>& to, int64_t n, Fn fn) {
    const int64_t* x = arg(step, 0).integer;
    for (int64_t i = 0; i < n; ++i) to.integer[i] = fn(x[i]);
  }
  template <class Fn>
  void whole_pairs(const PointwiseStep& step, Block<R>& to, int64_t n, Fn fn) {
    const int64_t *a = arg(step, 0).integer, *b = arg(step, 1).integer;
    bool by_zero = false;
    for (int64_t i = 0; i < n; ++i) to.integer[i] = fn(a[i], b[i], by_zero);
    if (by_zero) throw std::domain_error("an integer is divided by 0");
  }

  const Pointwise& chain_;
  const Nest& nest_;
  void* out_;
  const void* const* inputs_;
  std::vector<Block<R>> registers_;
  const VectorSteps* const vectors_ = vector_steps(isa());
  std::vector<int64_t> repeated_;  ///< by input: the entry with which its register is filled
};

void run_whole(const Pointwise& op, void* out, const void* const* inputs) {
  if (op.f64)
    Machine<double>(op, out, inputs).run();
  else
    Machine<float>(op, out, inputs).run();
}

/// Entries of a piece for a thread; whole blocks.
constexpr int64_t piece_entries = 128 * block_size;

}  // namespace

/// Threads share the outermost loop: an entry's value does not depend on the others.
void run(const Pointwise& op, void* out, const void* const* inputs) {
  const int64_t count = op.nest.count();
  if (threads() == 1 || count < 2 * piece_entries) return run_whole(op, out, inputs);
  const int64_t outer = op.nest.extents[0], each = count / outer;
  int64_t lines = std::max<int64_t>(piece_entries / each, 1);
  if (op.nest.extents.size() == 1) lines = piece_entries;
  in_pieces((outer + lines - 1) / lines, [&](int64_t piece) {
    Pointwise some = op;
    const int64_t first = piece * lines;
    some.nest.extents[0] = std::min(lines, outer - first);
    const auto moved = [&](size_t operand, Element element) {
      return first * op.nest.strides[operand][0] * static_cast<int64_t>(size_of(element));
    };
    std::vector<const void*> from(op.inputs.size());
    for (size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<const char*>(inputs[i]) + moved(i + 1, op.inputs[i]);
    run_whole(some, static_cast<char*>(out) + moved(0, op.output), from.data());
  });
}

}  // namespace shardproof::cpu
