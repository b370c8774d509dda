// Norms: reads a row once per sum and once more to write it; the row stays in the caches.
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/fused/rows.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

template <class E, int n, int team>
struct RmsNormKernel {
  int64_t rows, length;
  const void* x;
  float* out;
  Given eps;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const auto* from = static_cast<const E*>(x);
    PerThread<Floats<1>> squares;
    each_rows<team>(block, rows, [&](int64_t first) {
      sum_rows<team, n>(block, squares, first, rows, length,
                        [&](int, int64_t, int64_t at, Floats<1>& sum) {
                          const auto y = load<n>(from + at);
                          for (float each : y.at) sum.at[0] += each * each;
                        });
      block.each_alone([&](int thread) {
        const float r =
            inverse_root(squares[thread].at[0] / static_cast<float>(length) + eps.get());
        Row<team, n>(thread, first, rows, length).each([&](int64_t, int64_t at) {
          auto y = load<n>(from + at);
          for (float& each : y.at) each *= r;
          store(out + at, y);
        });
      });
    });
  }
};

/// g r - y c r^3 / M, c = the sum of g y.
template <class E, int n, int team>
struct RmsNormGradKernel {
  int64_t rows, length;
  const float* g;
  const void* x;
  float* out;
  Given eps;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const auto* from = static_cast<const E*>(x);
    PerThread<Floats<2>> sums;  // y y, g y
    each_rows<team>(block, rows, [&](int64_t first) {
      sum_rows<team, n>(block, sums, first, rows, length,
                        [&](int, int64_t, int64_t at, Floats<2>& sum) {
                          const auto y = load<n>(from + at), up = load<n>(g + at);
                          for (int i = 0; i < n; ++i) {
                            sum.at[0] += y.at[i] * y.at[i];
                            sum.at[1] += up.at[i] * y.at[i];
                          }
                        });
      block.each_alone([&](int thread) {
        const auto m = static_cast<float>(length);
        const float r = inverse_root(sums[thread].at[0] / m + eps.get());
        const float c = sums[thread].at[1] * (r * r * r) / m;
        Row<team, n>(thread, first, rows, length).each([&](int64_t, int64_t at) {
          const auto y = load<n>(from + at);
          auto up = load<n>(g + at);
          for (int i = 0; i < n; ++i) up.at[i] = up.at[i] * r - y.at[i] * c;
          store(out + at, up);
        });
      });
    });
  }
};

/// The mean of each row of x.
template <int team, int n, class E>
SHARDPROOF_DEVICE void mean_rows(Block& block, PerThread<Floats<1>>& means, int64_t first,
                                 int64_t rows, int64_t length, const E* x) {
  sum_rows<team, n>(block, means, first, rows, length,
                    [&](int, int64_t, int64_t at, Floats<1>& sum) {
                      const auto y = load<n>(x + at);
                      for (float each : y.at) sum.at[0] += each;
                    });
  block.each_alone([&](int thread) { means[thread].at[0] /= static_cast<float>(length); });
}

template <class E, int n, int team>
struct LayerNormKernel {
  int64_t rows, length;
  const void* x;
  float* out;
  Given eps;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const auto* from = static_cast<const E*>(x);
    PerThread<Floats<1>> mean, squares;
    each_rows<team>(block, rows, [&](int64_t first) {
      mean_rows<team, n>(block, mean, first, rows, length, from);
      sum_rows<team, n>(block, squares, first, rows, length,
                        [&](int thread, int64_t, int64_t at, Floats<1>& sum) {
                          const auto y = load<n>(from + at);
                          for (float each : y.at) {
                            const float d = each - mean[thread].at[0];
                            sum.at[0] += d * d;
                          }
                        });
      block.each_alone([&](int thread) {
        const float r =
            inverse_root(squares[thread].at[0] / static_cast<float>(length) + eps.get());
        Row<team, n>(thread, first, rows, length).each([&](int64_t, int64_t at) {
          auto y = load<n>(from + at);
          for (float& each : y.at) each = (each - mean[thread].at[0]) * r;
          store(out + at, y);
        });
      });
    });
  }
};

/// h = g r - d c r^3 / M, c = the sum of g d; less the mean of h: (r sum g - c r^3 / M sum d) / M.
template <class E, int n, int team>
struct LayerNormGradKernel {
  int64_t rows, length;
  const float* g;
  const void* x;
  float* out;
  Given eps;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const auto* from = static_cast<const E*>(x);
    PerThread<Floats<1>> mean;
    PerThread<Floats<4>> sums;  // d d, g d, g, d
    each_rows<team>(block, rows, [&](int64_t first) {
      mean_rows<team, n>(block, mean, first, rows, length, from);
      sum_rows<team, n>(block, sums, first, rows, length,
                        [&](int thread, int64_t, int64_t at, Floats<4>& sum) {
                          const auto y = load<n>(from + at), up = load<n>(g + at);
                          for (int i = 0; i < n; ++i) {
                            const float d = y.at[i] - mean[thread].at[0];
                            sum.at[0] += d * d;
                            sum.at[1] += up.at[i] * d;
                            sum.at[2] += up.at[i];
                            sum.at[3] += d;
                          }
                        });
      block.each_alone([&](int thread) {
        const auto m = static_cast<float>(length);
        const Floats<4> sum = sums[thread];
        const float r = inverse_root(sum.at[0] / m + eps.get()), c = sum.at[1] * (r * r * r) / m;
        const float less = (r * sum.at[2] - c * sum.at[3]) / m;
        Row<team, n>(thread, first, rows, length).each([&](int64_t, int64_t at) {
          const auto y = load<n>(from + at);
          auto up = load<n>(g + at);
          for (int i = 0; i < n; ++i)
            up.at[i] = up.at[i] * r - (y.at[i] - mean[thread].at[0]) * c - less;
          store(out + at, up);
        });
      });
    });
  }
};

template <template <class, int, int> class Kernel, class Op>
void run_norm(const Stream& stream, const Op& op, Outputs outputs, Inputs inputs) {
  const void* const* next = inputs + 1;
  const Given eps = given(op.eps, next);
  launch_rows<Kernel>(stream, op.x, op.rows, op.length, {inputs[0], outputs[0]}, inputs[0],
                      static_cast<float*>(outputs[0]), eps);
}

template <template <class, int, int> class Kernel, class Op>
void run_norm_grad(const Stream& stream, const Op& op, Outputs outputs, Inputs inputs) {
  const void* const* next = inputs + 2;
  const Given eps = given(op.eps, next);
  launch_rows<Kernel>(stream, op.x, op.rows, op.length, {inputs[0], inputs[1], outputs[0]},
                      static_cast<const float*>(inputs[0]), inputs[1],
                      static_cast<float*>(outputs[0]), eps);
}

}  // namespace

void run(const Stream& stream, const RmsNorm& op, Outputs outputs, Inputs inputs) {
  run_norm<RmsNormKernel>(stream, op, outputs, inputs);
}
void run(const Stream& stream, const RmsNormGrad& op, Outputs outputs, Inputs inputs) {
  run_norm_grad<RmsNormGradKernel>(stream, op, outputs, inputs);
}
void run(const Stream& stream, const LayerNorm& op, Outputs outputs, Inputs inputs) {
  run_norm<LayerNormKernel>(stream, op, outputs, inputs);
}
void run(const Stream& stream, const LayerNormGrad& op, Outputs outputs, Inputs inputs) {
  run_norm_grad<LayerNormGradKernel>(stream, op, outputs, inputs);
}

}  // namespace shardproof::SHARDPROOF_MACHINE
