// Softmax and its losses: one pass computes the largest entry and the sum of a row.
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/fused/rows.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

/// A part of a row: its largest entry m, and the sum of exp(x - m).
using RowStats = Floats<2>;

struct JoinStats {
  SHARDPROOF_DEVICE RowStats operator()(const RowStats& a, const RowStats& b) const {
    const float m = fmaxf(a.at[0], b.at[0]);
    if (m == -INFINITY) return {{m, 0}};
    return {{m, a.at[1] * expf(a.at[0] - m) + b.at[1] * expf(b.at[0] - m)}};
  }
};

template <int n>
SHARDPROOF_DEVICE RowStats with(const RowStats& row_stats, const Floats<n>& x) {
  float m = row_stats.at[0], sum = 0;
  for (float each : x.at) m = fmaxf(m, each);
  if (m == -INFINITY) return row_stats;
  for (float each : x.at) sum += expf(each - m);
  return {{m, row_stats.at[1] * expf(row_stats.at[0] - m) + sum}};
}

/// stats[thread]: the (m, sum) of the thread's row.
template <int team, int n>
SHARDPROOF_DEVICE void stats_of_rows(Block& block, PerThread<RowStats>& stats, int64_t first,
                                     int64_t rows, int64_t length, const float* x) {
  block.each_alone([&](int thread) {
    RowStats row_stats{{-INFINITY, 0}};
    Row<team, n>(thread, first, rows, length).each([&](int64_t, int64_t at) {
      row_stats = with(row_stats, load<n>(x + at));
    });
    stats[thread] = row_stats;
  });
  join_team<team>(block, stats, JoinStats{}, block.shared<RowStats>());
}

template <class E, int n, int team>
struct SoftmaxKernel {
  int64_t rows, length;
  const float* x;
  float* out;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    PerThread<RowStats> stats;
    each_rows<team>(block, rows, [&](int64_t first) {
      stats_of_rows<team, n>(block, stats, first, rows, length, x);
      block.each_alone([&](int thread) {
        const RowStats row_stats = stats[thread];
        Row<team, n>(thread, first, rows, length).each([&](int64_t, int64_t at) {
          auto y = load<n>(x + at);
          for (float& each : y.at) each = expf(each - row_stats.at[0]) / row_stats.at[1];
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
    PerThread<RowStats> stats;
    each_rows<team>(block, rows, [&](int64_t first) {
      stats_of_rows<team, n>(block, stats, first, rows, length, logits);
      block.each_alone([&](int thread) {
        const Row<team, n> place(thread, first, rows, length);
        if (!place.first_lane()) return;
        const int64_t hit = target[place.row];
        const bool is_entry = hit >= 0 && hit < length;
        const RowStats row_stats = stats[thread];
        loss[place.row] = (logf(row_stats.at[1]) + row_stats.at[0]) -
                          (is_entry ? logits[place.row * length + hit] : 0.0f);
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
    PerThread<RowStats> stats;
    each_rows<team>(block, rows, [&](int64_t first) {
      stats_of_rows<team, n>(block, stats, first, rows, length, logits);
      block.each_alone([&](int thread) {
        const Row<team, n> place(thread, first, rows, length);
        if (place.row >= rows) return;
        const RowStats row_stats = stats[thread];
        const float up = g[place.row];
        const int64_t hit = target[place.row];
        place.each([&](int64_t entry, int64_t at) {
          auto x = load<n>(logits + at);
          for (int i = 0; i < n; ++i)
            x.at[i] = (expf(x.at[i] - row_stats.at[0]) / row_stats.at[1] -
                       (entry + i == hit ? 1.0f : 0.0f)) *
                      up;
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
