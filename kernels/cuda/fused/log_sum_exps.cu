// Converts the log-sum-exps of attention to the form that libraries use: one logarithm per row.
#include <cmath>

#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/launch.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

/// Index i is (query, group member); in a library's order the group members are
/// heads.
struct LogOrder {
  int64_t queries, group;

  SHARDPROOF_HD int64_t log_of(int64_t pair) const {
    const int64_t rows = queries * group, row = pair % rows;
    return (pair / rows * group + row % group) * queries + row / group;
  }
};

struct ToLogsKernel {
  LogOrder order;
  int64_t count;
  const float* stats;
  float* logs;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    each_of(block, count,
            [&](int64_t i) { logs[order.log_of(i)] = stats[2 * i] + logf(stats[2 * i + 1]); });
  }
};

struct FromLogsKernel {
  LogOrder order;
  int64_t count;
  const float* logs;
  float* stats;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    each_of(block, count, [&](int64_t i) {
      stats[2 * i] = logs[order.log_of(i)];
      stats[2 * i + 1] = 1;
    });
  }
};

}  // namespace

void to_logs(const Stream& stream, const AttentionShape& shape, const float* stats, float* logs) {
  const int64_t count = shape.batches() * shape.rows();
  launch_each(stream, count, ToLogsKernel{{shape.queries, shape.group}, count, stats, logs});
}

void from_logs(const Stream& stream, const AttentionShape& shape, const float* logs, float* stats) {
  const int64_t count = shape.batches() * shape.rows();
  launch_each(stream, count, FromLogsKernel{{shape.queries, shape.group}, count, logs, stats});
}

}  // namespace shardproof::SHARDPROOF_MACHINE
