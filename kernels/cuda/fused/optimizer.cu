// The optimizer, three results in one pass over memory; and the norm of a gradient.
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/fused/rows.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

constexpr int flat_threads = 256;

template <class G, int n>
struct AdamWKernel {
  int64_t count;
  const float* w;
  const G* g;
  const float *m, *v;
  float *w1, *m1, *v1;
  Given step, lr, decay, b1, b2, eps, scale;

  struct Factors {
    float b1, b2, lr, decay, eps, scale;
    float by_m, by_v;  ///< 1 - b ^ step
  };

  SHARDPROOF_DEVICE Factors factors() const {
    const float first = b1.get(), second = b2.get(), t = step.get();
    return {first,     second,      lr.get(),           decay.get(),
            eps.get(), scale.get(), 1 - powf(first, t), 1 - powf(second, t)};
  }

  SHARDPROOF_DEVICE void update(const Factors& by, int64_t i) const {
    auto weight = load<n>(w + i), first = load<n>(m + i), second = load<n>(v + i);
    const auto up = load<n>(g + i);
    for (int k = 0; k < n; ++k) {
      const float gradient = up.at[k] * by.scale;
      first.at[k] = by.b1 * first.at[k] + (1 - by.b1) * gradient;
      second.at[k] = by.b2 * second.at[k] + (1 - by.b2) * (gradient * gradient);
      const float mh = first.at[k] / by.by_m, vh = second.at[k] / by.by_v;
      weight.at[k] -= by.lr * (mh / (sqrtf(vh) + by.eps) + by.decay * weight.at[k]);
    }
    store(w1 + i, weight);
    store(m1 + i, first);
    store(v1 + i, second);
  }

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    auto* shared = block.shared<Factors>();
    block.each([&](int thread) {
      if (thread == 0) *shared = factors();
    });
    block.each_alone([&](int thread) {
      const Factors by = *shared;
      const int64_t stride = block.blocks() * flat_threads * n;
      for (int64_t i = (block.index() * flat_threads + thread) * n; i < count; i += stride)
        update(by, i);
    });
  }
};

template <class G, int n>
void launch_adamw(const Stream& stream, const AdamW& op, Outputs outputs, Inputs inputs) {
  constexpr int64_t enough_blocks = 132 * 16;
  const auto input = [&](int i) { return static_cast<const float*>(inputs[i]); };
  const auto output = [&](int i) { return static_cast<float*>(outputs[i]); };
  const void* const* next = inputs + 4;
  const Given step = given(op.step, next), lr = given(op.lr, next), decay = given(op.decay, next);
  const Given b1 = given(op.b1, next), b2 = given(op.b2, next), eps = given(op.eps, next);
  const Given scale = given(op.scale, next);
  const int64_t blocks = (op.count + flat_threads * n - 1) / (flat_threads * n);
  const AdamWKernel<G, n> kernel{op.count,  input(0),  static_cast<const G*>(inputs[1]),
                                 input(2),  input(3),  output(0),
                                 output(1), output(2), step,
                                 lr,        decay,     b1,
                                 b2,        eps,       scale};
  launch<flat_threads>(stream, std::min(enough_blocks, blocks), kernel, 64);
}

template <class G>
void launch_adamw_of(const Stream& stream, const AdamW& op, Outputs outputs, Inputs inputs) {
  if (aligned(op.count, 4,
              {inputs[0], inputs[1], inputs[2], inputs[3], outputs[0], outputs[1], outputs[2]}))
    launch_adamw<G, 4>(stream, op, outputs, inputs);
  else
    launch_adamw<G, 1>(stream, op, outputs, inputs);
}

// --- sum of squares: each block computes a partial sum in double, then one block adds these
// ---

template <class E, int n>
struct PartialSquares {
  int64_t count;
  const E* g;
  double* partial;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    PerThread<Several<double, 1>> sums;
    block.each_alone([&](int thread) {
      double sum = 0;
      const int64_t stride = block.blocks() * row_threads * n;
      for (int64_t i = (block.index() * row_threads + thread) * n; i < count; i += stride)
        for (float each : load<n>(g + i).at) sum += static_cast<double>(each) * each;
      sums[thread].at[0] = sum;
    });
    join_team<row_threads>(block, sums, Add{}, block.shared<Several<double, 1>>());
    block.each_alone([&](int thread) {
      if (thread == 0) partial[block.index()] = sums[0].at[0];
    });
  }
};

struct TotalOfPartials {
  int64_t count;
  const double* partial;
  float* out;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    PerThread<Several<double, 1>> sums;
    block.each_alone([&](int thread) {
      double sum = 0;
      for (int64_t i = thread; i < count; i += row_threads) sum += partial[i];
      sums[thread].at[0] = sum;
    });
    join_team<row_threads>(block, sums, Add{}, block.shared<Several<double, 1>>());
    block.each_alone([&](int thread) {
      if (thread == 0) *out = static_cast<float>(sums[0].at[0]);
    });
  }
};

template <class E, int n>
void launch_squares(const Stream& stream, const SumSquares& op, Outputs outputs, Inputs inputs) {
  constexpr size_t shared = row_threads / warp_threads * sizeof(double);
  const int64_t blocks = op.blocks();
  auto* partial = static_cast<double*>(outputs[1]);
  launch<row_threads>(stream, blocks,
                      PartialSquares<E, n>{op.count, static_cast<const E*>(inputs[0]), partial},
                      shared);
  launch<row_threads>(stream, 1, TotalOfPartials{blocks, partial, static_cast<float*>(outputs[0])},
                      shared);
}

/// The assignment of entries to threads does not depend on E: a sum of bf16 numbers has the same
/// bits in every element.
template <class E>
void launch_squares_of(const Stream& stream, const SumSquares& op, Outputs outputs, Inputs inputs) {
  constexpr int n = 8;
  if (op.count % n == 0 && reinterpret_cast<uintptr_t>(inputs[0]) % (n * sizeof(E)) == 0)
    launch_squares<E, n>(stream, op, outputs, inputs);
  else
    launch_squares<E, 1>(stream, op, outputs, inputs);
}

}  // namespace

void run(const Stream& stream, const AdamW& op, Outputs outputs, Inputs inputs) {
  if (op.gradient == Element::bf16)
    launch_adamw_of<Bfloat16>(stream, op, outputs, inputs);
  else
    launch_adamw_of<float>(stream, op, outputs, inputs);
}

void run(const Stream& stream, const SumSquares& op, Outputs outputs, Inputs inputs) {
  if (op.element == Element::bf16)
    launch_squares_of<Bfloat16>(stream, op, outputs, inputs);
  else
    launch_squares_of<float>(stream, op, outputs, inputs);
}

}  // namespace shardproof::SHARDPROOF_MACHINE
