// Softmax and its losses: one pass computes the largest entry and the sum of a row.
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/fused/rows.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

/// A part of a row: its largest entry m, and the sum of exp(x - m).
using Mass = Floats<2>;

struct JoinMass {
  SHARDPROOF_DEVICE Mass operator()(const Mass& a, const Mass& b) const {
    const float m = fmaxf(a.at[0], b.at[0]);
    if (m == -INFINITY) return {{m, 0}};
    return {{m, a.at[1] * expf(a.at[0] - m) + b.at[1] * expf(b.at[0] - m)}};
  }
};

template <int n>
SHARDPROOF_DEVICE Mass with(const Mass& mass, const Floats<n>& x) {
  float m = mass.at[0], sum = 0;
  for (float each : x.at) m = fmaxf(m, each);
  if (m == -INFINITY) return mass;
  for (float each : x.at) sum += expf(each - m);
  return {{m, mass.at[1] * expf(mass.at[0] - m) + sum}};
}

/// masses[thread]: the (m, sum) of the thread's row.
template <int team, int n>
SHARDPROOF_DEVICE void mass_rows(Block& block, PerThread<Mass>& masses, int64_t first, int64_t rows,
                                 int64_t length, const float* x) {
  block.each_alone([&](int thread) {
    Mass mass{{-INFINITY, 0}};
    Row<team, n>(thread, first, rows, length).each([&](int64_t, int64_t at) {
      mass = with(mass, load<n>(x + at));
    });
    masses[thread] = mass;
  });
  join_team<team>(block, masses, JoinMass{}, block.shared<Mass>());
}

template <class E, int n, int team>
struct SoftmaxKernel {
  int64_t rows, length;
  const float* x;
  float* out;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    PerThread<Mass> masses;
    each_rows<team>(block, rows, [&](int64_t first) {
      mass_rows<team, n>(block, masses, first, rows, length, x);
      block.each_alone([&](int thread) {
        const Mass mass = masses[thread];
        Row<team, n>(thread, first, rows, length).each([&](int64_t, int64_t at) {
          auto y = load<n>(x + at);
          for (float& each : y.at) each = expf(each - mass.at[0]) / mass.at[1];
          store(out + at, y);
        });
      });
    });
  }
};

template <class E, int n, int team>
struct SoftmaxGradKernel {
  int64_t rows, length;
  const float *g, *y;
  float* out;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    PerThread<Floats<1>> sums;
    each_rows<team>(block, rows, [&](int64_t first) {
      sum_rows<team, n>(block, sums, first, rows, length,
                        [&](int, int64_t, int64_t at, Floats<1>& sum) {
                          const auto up = load<n>(g + at), own = load<n>(y + at);
                          for (int i = 0; i < n; ++i) sum.at[0] += up.at[i] * own.at[i];
                        });
      block.each_alone([&](int thread) {
        Row<team, n>(thread, first, rows, length).each([&](int64_t, int64_t at) {
          const auto up = load<n>(g + at);
          auto own = load<n>(y + at);
          for (int i = 0; i < n; ++i) own.at[i] *= up.at[i] - sums[thread].at[0];
          store(out + at, own);
        });
      });
    });
  }
};

template <class E, int n, int team>
struct CrossEntropyKernel {
  int64_t rows, length;
  const float* logits;
  const int32_t* target;
  float* loss;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    PerThread<Mass> masses;
    each_rows<team>(block, rows, [&](int64_t first) {
      mass_rows<team, n>(block, masses, first, rows, length, logits);
      block.each_alone([&](int thread) {
        const Row<team, n> place(thread, first, rows, length);
        if (!place.first_lane()) return;
        const int64_t hit = target[place.row];
        const bool is_entry = hit >= 0 && hit < length;
        const Mass mass = masses[thread];
        loss[place.row] =
            (logf(mass.at[1]) + mass.at[0]) - (is_entry ? logits[place.row * length + hit] : 0.0f);
      });
    });
  }
};

template <class E, int n, int team>
struct CrossEntropyGradKernel {
  int64_t rows, length;
  const float *g, *logits;
  const int32_t* target;
  float* out;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    PerThread<Mass> masses;
    each_rows<team>(block, rows, [&](int64_t first) {
      mass_rows<team, n>(block, masses, first, rows, length, logits);
      block.each_alone([&](int thread) {
        const Row<team, n> place(thread, first, rows, length);
        if (place.row >= rows) return;
        const Mass mass = masses[thread];
        const float up = g[place.row];
        const int64_t hit = target[place.row];
        place.each([&](int64_t entry, int64_t at) {
          auto x = load<n>(logits + at);
          for (int i = 0; i < n; ++i)
            x.at[i] =
                (expf(x.at[i] - mass.at[0]) / mass.at[1] - (entry + i == hit ? 1.0f : 0.0f)) * up;
          store(out + at, x);
        });
      });
    });
  }
};

const float* floats(const void* array) { return static_cast<const float*>(array); }

}  // namespace

void run(const Stream& stream, const Softmax& op, Outputs outputs, Inputs inputs) {
  launch_float_rows<SoftmaxKernel>(stream, op.rows, op.length, {inputs[0], outputs[0]},
                                   floats(inputs[0]), static_cast<float*>(outputs[0]));
}
void run(const Stream& stream, const SoftmaxGrad& op, Outputs outputs, Inputs inputs) {
  launch_float_rows<SoftmaxGradKernel>(stream, op.rows, op.length,
                                       {inputs[0], inputs[1], outputs[0]}, floats(inputs[0]),
                                       floats(inputs[1]), static_cast<float*>(outputs[0]));
}
void run(const Stream& stream, const CrossEntropy& op, Outputs outputs, Inputs inputs) {
  launch_float_rows<CrossEntropyKernel>(stream, op.rows, op.length, {inputs[0]}, floats(inputs[0]),
                                        static_cast<const int32_t*>(inputs[1]),
                                        static_cast<float*>(outputs[0]));
}
void run(const Stream& stream, const CrossEntropyGrad& op, Outputs outputs, Inputs inputs) {
  launch_float_rows<CrossEntropyGradKernel>(
      stream, op.rows, op.length, {inputs[1], outputs[0]}, floats(inputs[0]), floats(inputs[1]),
      static_cast<const int32_t*>(inputs[2]), static_cast<float*>(outputs[0]));
}

}  // namespace shardproof::SHARDPROOF_MACHINE
