// Highway's foreach_target compiles this file once per instruction level, like vector_steps.cpp.
#include "kernels/cpu/fused.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/grouped.h"
#include "kernels/cpu/rounded.h"
#include "kernels/cpu/rowwise.h"
#include "kernels/cpu/threads.h"

#ifndef SHARDPROOF_HIGHWAY
namespace shardproof::cpu {
const FusedKernels* fused_kernels(Isa) { return nullptr; }
}  // namespace shardproof::cpu
#else

#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fused.cpp"
#include <hwy/foreach_target.h>
// must come after foreach_target.h
#include "kernels/cpu/vector_rows.h"

HWY_BEFORE_NAMESPACE();
namespace shardproof::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t longest_block = 256;

float scalar(const Scalar& given, const void* const*& next) {
  return given.is_input ? *static_cast<const float*>(*next++) : given.value;
}

/// The rows of an operand as f32: in place, or each converted when it is read.
class Rows {
 public:
  Rows(Element element, const void* from, int64_t length)
      : from_(from), length_(length), is_wide_(element == Element::f32) {
    if (!is_wide_) row_.resize(static_cast<size_t>(length));
  }
  const float* row(int64_t i) {
    if (is_wide_) return static_cast<const float*>(from_) + i * length_;
    widen(row_.data(), static_cast<const uint16_t*>(from_) + i * length_, length_);
    return row_.data();
  }

 private:
  const void* from_;
  int64_t length_;
  bool is_wide_;
  std::vector<float> row_;
};

/// The mean of a row to subtract (0 for rms_norm), and 1 / sqrt(mean square + eps).
struct Moments {
  float mean, inverse;
};

template <bool centres>
HWY_INLINE Moments moments(const float* x, int64_t length, float eps) {
  const auto count = static_cast<float>(length);
  float mean = 0;
  if constexpr (centres)
    mean = sum_of(length, [x](auto d, int64_t i) HWY_ATTR { return hn::LoadU(d, x + i); }) / count;
  const float squares = sum_of(length, [x, mean](auto d, int64_t i) HWY_ATTR {
    const auto y = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    return hn::Mul(y, y);
  });
  return {mean, 1.0f / std::sqrt(squares / count + eps)};
}

template <bool centres, class Op>
void norm(const Op& op, void* const* outputs, const void* const* inputs) {
  const void* const* next = inputs + 1;
  const float eps = scalar(op.eps, next);
  Rows rows(op.x, inputs[0], op.length);
  for (int64_t row = 0; row < op.rows; ++row) {
    const float* x = rows.row(row);
    float* out = static_cast<float*>(outputs[0]) + row * op.length;
    const Moments by = moments<centres>(x, op.length, eps);
    for_each_vector(op.length, [=](auto d, int64_t i) HWY_ATTR {
      const auto y = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, by.mean));
      hn::StoreU(hn::Mul(y, hn::Set(d, by.inverse)), d, out + i);
    });
  }
}

template <bool centres, class Op>
void norm_grad(const Op& op, void* const* outputs, const void* const* inputs) {
  const void* const* next = inputs + 2;
  const float eps = scalar(op.eps, next);
  const auto count = static_cast<float>(op.length);
  Rows rows(op.x, inputs[1], op.length);
  for (int64_t row = 0; row < op.rows; ++row) {
    const float* g = static_cast<const float*>(inputs[0]) + row * op.length;
    const float* x = rows.row(row);
    float* out = static_cast<float*>(outputs[0]) + row * op.length;
    const Moments by = moments<centres>(x, op.length, eps);
    const float along = sum_of(op.length, [=](auto d, int64_t i) HWY_ATTR {
      return hn::Mul(hn::LoadU(d, g + i), hn::Sub(hn::LoadU(d, x + i), hn::Set(d, by.mean)));
    });
    const float factor = along * (by.inverse * by.inverse * by.inverse) / count;
    for_each_vector(op.length, [=](auto d, int64_t i) HWY_ATTR {
      const auto y = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, by.mean));
      hn::StoreU(hn::Sub(hn::Mul(hn::LoadU(d, g + i), hn::Set(d, by.inverse)),
                         hn::Mul(y, hn::Set(d, factor))),
                 d, out + i);
    });
    if constexpr (centres) {
      const float mean =
          sum_of(op.length, [out](auto d, int64_t i) HWY_ATTR { return hn::LoadU(d, out + i); }) /
          count;
      for_each_vector(op.length, [=](auto d, int64_t i) HWY_ATTR {
        hn::StoreU(hn::Sub(hn::LoadU(d, out + i), hn::Set(d, mean)), d, out + i);
      });
    }
  }
}

void cross_entropy(const CrossEntropy& op, void* const* outputs, const void* const* inputs) {
  for (int64_t row = 0; row < op.rows; ++row) {
    const float* x = static_cast<const float*>(inputs[0]) + row * op.length;
    const int64_t target = static_cast<const int32_t*>(inputs[1])[row];
    const Stats row_stats = stats_of(x, op.length);
    const float hit = target >= 0 && target < op.length ? x[target] : 0.0f;
    static_cast<float*>(outputs[0])[row] = std::log(row_stats.sum) + row_stats.largest - hit;
  }
}

void cross_entropy_grad(const CrossEntropyGrad& op, void* const* outputs,
                        const void* const* inputs) {
  for (int64_t row = 0; row < op.rows; ++row) {
    const float g = static_cast<const float*>(inputs[0])[row];
    const float* x = static_cast<const float*>(inputs[1]) + row * op.length;
    float* out = static_cast<float*>(outputs[0]) + row * op.length;
    const int64_t target = static_cast<const int32_t*>(inputs[2])[row];
    const float largest = largest_of(x, op.length);
    const float sum = sum_of(op.length, [=](auto d, int64_t i) HWY_ATTR {
      const auto e = exp_of_negative(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, largest)));
      hn::StoreU(e, d, out + i);
      return e;
    });
    const bool has_target = target >= 0 && target < op.length;
    const float hit = has_target ? (out[target] / sum - 1.0f) * g : 0.0f;
    for_each_vector(op.length, [out, factor = g / sum](auto d, int64_t i) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::LoadU(d, out + i), hn::Set(d, factor)), d, out + i);
    });
    if (has_target) out[target] = hit;
  }
}

/// cos and sin of the angles `pos * rate[i]`.
void turns(float pos, const float* rate, int64_t n, float* cosines, float* sines) {
  for_each_vector(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto angle = hn::Mul(hn::Set(d, pos), hn::LoadU(d, rate + i));
    hn::StoreU(cos_of(d, angle), d, cosines + i);
    hn::StoreU(sin_of(d, angle), d, sines + i);
  });
}

template <class T>
HWY_INLINE void turn(T* to, const T* x, int64_t half, const float* cosines, const float* sines) {
  for_each_vector(half, [=](auto d, int64_t i) HWY_ATTR {
    const auto c = hn::LoadU(d, cosines + i), s = hn::LoadU(d, sines + i);
    const auto x1 = loaded(d, x + i), x2 = loaded(d, x + half + i);
    stored(d, hn::Sub(hn::Mul(x1, c), hn::Mul(x2, s)), to + i);
    stored(d, hn::Add(hn::Mul(x2, c), hn::Mul(x1, s)), to + half + i);
  });
}

template <class T>
void rope_of(const Rope& op, int64_t first, int64_t count, T* to, const void* const* inputs) {
  const int64_t half = op.width / 2;
  const auto* x = static_cast<const T*>(inputs[0]);
  const auto* pos = static_cast<const int32_t*>(inputs[1]);
  const void* const* next = inputs + 2;
  const float rate = -2.0f * std::log(scalar(op.base, next)) / static_cast<float>(op.width);
  std::vector<float> memory(static_cast<size_t>(3 * half));
  float *const rates = memory.data(), *const cosines = rates + half, *const sines = cosines + half;
  for (int64_t i = 0; i < half; ++i) rates[i] = std::exp(static_cast<float>(i) * rate);
  for (int64_t position = first; position < first + count; ++position) {
    const auto angle = static_cast<float>(pos[position]);
    turns(op.inverse ? -angle : angle, rates, half, cosines, sines);
    for (int64_t outer = 0; outer < op.outer; ++outer) {
      const int64_t at = (outer * op.positions + position) * op.inner;
      for (int64_t i = at * op.width; i < (at + op.inner) * op.width; i += op.width)
        turn(to + i, x + i, half, cosines, sines);
    }
  }
}

void rope(const Rope& op, int64_t first, int64_t count, void* out, const void* const* inputs) {
  if (op.element == Element::bf16)
    rope_of(op, first, count, static_cast<uint16_t*>(out), inputs);
  else
    rope_of(op, first, count, static_cast<float*>(out), inputs);
}

struct AdamWFactors {
  float b1, b2, lr, decay, eps, scale, by_m, by_v;
};

void adamw(const AdamW& op, void* const* outputs, const void* const* inputs) {
  const void* const* next = inputs + 4;
  AdamWFactors by{};
  const float step = scalar(op.step, next);
  by.lr = scalar(op.lr, next);
  by.decay = scalar(op.decay, next);
  by.b1 = scalar(op.b1, next);
  by.b2 = scalar(op.b2, next);
  by.eps = scalar(op.eps, next);
  by.scale = scalar(op.scale, next);
  by.by_m = 1 - std::pow(by.b1, step);
  by.by_v = 1 - std::pow(by.b2, step);
  const auto* w = static_cast<const float*>(inputs[0]);
  const auto* m = static_cast<const float*>(inputs[2]);
  const auto* v = static_cast<const float*>(inputs[3]);
  auto* w1 = static_cast<float*>(outputs[0]);
  auto* m1 = static_cast<float*>(outputs[1]);
  auto* v1 = static_cast<float*>(outputs[2]);
  float wide[longest_block];
  for (int64_t first = 0; first < op.count; first += longest_block) {
    const int64_t n = std::min(longest_block, op.count - first);
    const float* g = static_cast<const float*>(inputs[1]) + first;
    if (op.gradient == Element::bf16) {
      widen(wide, static_cast<const uint16_t*>(inputs[1]) + first, n);
      g = wide;
    }
    for_each_vector(n, [=](auto d, int64_t k) HWY_ATTR {
      const int64_t i = first + k;
      const auto weight = hn::LoadU(d, w + i);
      const auto gradient = hn::Mul(hn::LoadU(d, g + k), hn::Set(d, by.scale));
      const auto mean = hn::Add(hn::Mul(hn::Set(d, by.b1), hn::LoadU(d, m + i)),
                                hn::Mul(hn::Set(d, 1 - by.b1), gradient));
      const auto square = hn::Add(hn::Mul(hn::Set(d, by.b2), hn::LoadU(d, v + i)),
                                  hn::Mul(hn::Set(d, 1 - by.b2), hn::Mul(gradient, gradient)));
      const auto mh = hn::Div(mean, hn::Set(d, by.by_m));
      const auto vh = hn::Div(square, hn::Set(d, by.by_v));
      const auto moves = hn::Add(hn::Div(mh, hn::Add(hn::Sqrt(vh), hn::Set(d, by.eps))),
                                 hn::Mul(hn::Set(d, by.decay), weight));
      hn::StoreU(mean, d, m1 + i);
      hn::StoreU(square, d, v1 + i);
      hn::StoreU(hn::Sub(weight, hn::Mul(hn::Set(d, by.lr), moves)), d, w1 + i);
    });
  }
}

/// Reads four parts in turn: an Emerald Rapids then reads memory 1.4 times as fast.
double sum_squares(const SumSquares& op, const void* x) {
  double total = 0;
  float wide[longest_block];
  const bool narrow = op.element == Element::bf16;
  const auto add = [&](int64_t first, int64_t n) HWY_ATTR {
    const float* g = static_cast<const float*>(x) + first;
    if (narrow) {
      widen(wide, static_cast<const uint16_t*>(x) + first, n);
      g = wide;
    }
    total += sum_of(n, [g](auto d, int64_t i) HWY_ATTR {
      const auto y = hn::LoadU(d, g + i);
      return hn::Mul(y, y);
    });
  };
  constexpr int64_t parts = 4, turn = parts * longest_block;
  const int64_t part = (op.count + turn - 1) / turn * longest_block;
  for (int64_t i = 0; i < part; i += longest_block)
    for (int64_t first = i; first < op.count; first += part)
      add(first, std::min(longest_block, op.count - first));
  return total;
}

[[maybe_unused]] const FusedKernels kernels{norm<false, RmsNorm>,
                                            norm_grad<false, RmsNormGrad>,
                                            norm<true, LayerNorm>,
                                            norm_grad<true, LayerNormGrad>,
                                            cross_entropy,
                                            cross_entropy_grad,
                                            rope,
                                            adamw,
                                            sum_squares};

}  // namespace HWY_NAMESPACE
}  // namespace shardproof::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/at_level.h"

namespace shardproof::cpu {

const FusedKernels* fused_kernels([[maybe_unused]] Isa isa) {
  SHARDPROOF_RETURN_AT_LEVEL(isa, kernels);
}

}  // namespace shardproof::cpu
#endif
#endif

#if !defined(SHARDPROOF_HIGHWAY) || HWY_ONCE
namespace shardproof::cpu {
namespace {

/// Calls the op's kernel. Without outputs it only checks that there is one.
struct Run {
  const FusedKernels* kernels;
  void* const* outputs;
  const void* const* inputs;
  int at_once = 1;

  bool operator()(const RmsNorm& op) const { return norm(kernels->rms_norm, op); }
  bool operator()(const RmsNormGrad& op) const { return norm_grad(kernels->rms_norm_grad, op); }
  bool operator()(const LayerNorm& op) const { return norm(kernels->layer_norm, op); }
  bool operator()(const LayerNormGrad& op) const { return norm_grad(kernels->layer_norm_grad, op); }
  bool operator()(const CrossEntropy& op) const {
    return by_rows(kernels->cross_entropy, op, sizeof(float), {row_of(op), sizeof(int32_t)});
  }
  bool operator()(const CrossEntropyGrad& op) const {
    return by_rows(kernels->cross_entropy_grad, op, row_of(op),
                   {sizeof(float), row_of(op), sizeof(int32_t)});
  }
  bool operator()(const Rope& op) const {
    if (outputs) rope_in_pieces(op);
    return true;
  }
  bool operator()(const AdamW& op) const {
    if (outputs) adamw_in_pieces(op);
    return true;
  }
  bool operator()(const SumSquares& op) const {
    if (outputs) sum_squares_in_pieces(op);
    return true;
  }
  bool operator()(const Attention& op) const { return attend(op); }
  bool operator()(const AttentionGrad& op) const { return attend(op); }
  template <class Op>
  bool operator()(const Op&) const {
    return false;
  }

 private:
  template <class Op>
  using Kernel = void (*)(const Op&, void* const*, const void* const*);

  template <class Op>
  static size_t row_of(const Op& op, Element element = Element::f32) {
    return static_cast<size_t>(op.length) * size_of(element);
  }
  template <class Op>
  bool norm(Kernel<Op> kernel, const Op& op) const {
    return by_rows(kernel, op, row_of(op), {row_of(op, op.x)}, op.eps.is_input);
  }
  template <class Op>
  bool norm_grad(Kernel<Op> kernel, const Op& op) const {
    return by_rows(kernel, op, row_of(op), {row_of(op), row_of(op, op.x)}, op.eps.is_input);
  }

  /// Threads share the rows, whose values do not depend on each other. The result and the inputs
  /// have these many bytes per row; scalars follow.
  template <class Op>
  bool by_rows(Kernel<Op> kernel, const Op& op, size_t result,
               std::initializer_list<size_t> operands, size_t scalars = 0) const {
    if (!outputs) return true;
    const int64_t rows = std::max<int64_t>((1 << 15) / std::max<int64_t>(op.length, 1), 1);
    in_pieces((op.rows + rows - 1) / rows, [&](int64_t piece) {
      Op some = op;
      const auto first = static_cast<size_t>(piece * rows);
      some.rows = std::min(rows, op.rows - piece * rows);
      const void* from[4] = {};
      std::copy_n(inputs, operands.size() + scalars, from);
      for (size_t i = 0; i < operands.size(); ++i)
        from[i] = static_cast<const char*>(inputs[i]) + first * operands.begin()[i];
      void* to = static_cast<char*>(outputs[0]) + first * result;
      kernel(some, &to, from);
    });
    return true;
  }

  /// Threads share the positions.
  void rope_in_pieces(const Rope& op) const {
    const int64_t each = std::max<int64_t>(op.outer * op.inner * op.width, 1);
    const int64_t positions = std::max<int64_t>((1 << 15) / each, 1);
    in_pieces((op.positions + positions - 1) / positions, [&](int64_t piece) {
      const int64_t first = piece * positions;
      kernels->rope(op, first, std::min(positions, op.positions - first), outputs[0], inputs);
    });
  }

  /// The pieces' sums are added in their order.
  void sum_squares_in_pieces(const SumSquares& op) const {
    constexpr int64_t entries = 1 << 18;
    std::vector<double> sums(static_cast<size_t>((op.count + entries - 1) / entries));
    in_pieces(static_cast<int64_t>(sums.size()), [&](int64_t piece) {
      SumSquares some = op;
      const int64_t first = piece * entries;
      some.count = std::min(entries, op.count - first);
      sums[static_cast<size_t>(piece)] =
          kernels->sum_squares(some, static_cast<const char*>(inputs[0]) +
                                         first * static_cast<int64_t>(size_of(op.element)));
    });
    *static_cast<float*>(outputs[0]) =
        static_cast<float>(std::accumulate(sums.begin(), sums.end(), 0.0));
  }

  /// Threads share the entries, whose values do not depend on each other.
  void adamw_in_pieces(const AdamW& op) const {
    constexpr int64_t entries = 1 << 16;
    in_pieces((op.count + entries - 1) / entries, [&](int64_t piece) {
      AdamW some = op;
      const int64_t first = piece * entries;
      some.count = std::min(entries, op.count - first);
      constexpr size_t tensors = 4, most_scalars = 7;
      const void* from[tensors + most_scalars] = {};
      std::copy_n(inputs, tensors + scalars_of(op), from);
      const auto moved = [first](const void* x, Element element) {
        return static_cast<const char*>(x) + first * static_cast<int64_t>(size_of(element));
      };
      for (size_t i = 0; i < tensors; ++i)
        from[i] = moved(inputs[i], i == 1 ? op.gradient : Element::f32);
      void* to[3] = {};
      for (size_t i = 0; i < 3; ++i) to[i] = static_cast<float*>(outputs[i]) + first;
      kernels->adamw(some, to, from);
    });
  }
  static size_t scalars_of(const AdamW& op) {
    size_t count = 0;
    for (const Scalar* each : {&op.step, &op.lr, &op.decay, &op.b1, &op.b2, &op.eps, &op.scale})
      count += each->is_input;
    return count;
  }

  template <class Op>
  bool attend(const Op& op) const {
    if (outputs) cpu::run(op, outputs, inputs, at_once);
    return true;
  }
};

}  // namespace

bool has_fused(const FusedOp& op) {
  if (is_grouped(op)) return true;
  if (const auto* product = std::get_if<RoundedProduct>(&op)) return has_tiles_for(*product);
  if (const auto* rows = std::get_if<Rowwise>(&op)) return is_worth_fusing(*rows);
  const FusedKernels* kernels = fused_kernels(isa());
  return kernels && std::visit(Run{kernels, nullptr, nullptr}, op);
}

std::vector<size_t> fused_scratch(const FusedOp& op, int at_once) {
  if (const auto* attention = std::get_if<Attention>(&op))
    return {attention->stats_bytes(), attention_memory(*attention, false, at_once)};
  if (const auto* grad = std::get_if<AttentionGrad>(&op))
    return {attention_memory(*grad, true, at_once)};
  if (const auto* rows = std::get_if<Rowwise>(&op))
    if (const size_t bytes = scratch_bytes(*rows)) return {bytes};
  return {};
}

void run(const FusedOp& op, void* const* outputs, const void* const* inputs, int at_once) {
  if (const auto* product = std::get_if<GroupedProduct>(&op)) return run(*product, outputs, inputs);
  if (const auto* sum = std::get_if<GroupedSum>(&op)) return run(*sum, outputs, inputs);
  if (const auto* product = std::get_if<RoundedProduct>(&op)) return run(*product, outputs, inputs);
  if (const auto* rows = std::get_if<Rowwise>(&op))
    if (const auto program = row_program(*rows)) return program->run(outputs, inputs);
  const FusedKernels* kernels = fused_kernels(isa());
  if (!kernels || !std::visit(Run{kernels, outputs, inputs, at_once}, op))
    throw std::logic_error("no such kernel on this processor");
}

}  // namespace shardproof::cpu
#endif
