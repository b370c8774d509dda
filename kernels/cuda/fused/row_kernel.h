#pragma once
// The loops of a row-wise fused op (kernels/rowwise.h) and the reductions between them. A Program
// supplies the computation: fused/walked_rows.cpp has one that interprets the steps;
// generate_rows.h writes straight-line ones, which NVRTC compiles with this file. A Program has
//   rows, length, columns, in_shared: as in RowShape
//   struct Kept: a thread's numbers for its row; bool by_zero
//   each_level(body): calls body(level) for each level, in order
//   Sums<Level>, nothing(level), join(level): accumulators of a level, initial value, combiner
//   once(operands, kept): computes numbers that are the same everywhere
//   begin(operands, row, kept): computes a row's numbers that need no reduction
//   terms<n>(level, operands, i, at, kept, sums): accumulates entries i .. i + n - 1 of the row, at
//     offset `at` in the array
//   end(level, operands, row, sums, kept): computes the reductions and what depends on them
//   entries<n>(operands, i, at, kept, columns): computes outputs per entry and per column
//   row_outputs(operands, row, kept): computes outputs per row
#include "kernels/cuda/fused/row.h"
#include "kernels/cuda/pointwise_fns.h"
#include "kernels/cuda/row_operands.h"
#ifndef __CUDACC_RTC__
#include "kernels/cuda/launch.h"
#endif

namespace shardproof::SHARDPROOF_MACHINE {

constexpr float infinity = __builtin_bit_cast(float, 0x7f800000u);

// --- reductions of `width` numbers ---

struct RowSum {
  static constexpr int width = 1;
  SHARDPROOF_DEVICE static void nothing(float* sum) { *sum = 0; }
  SHARDPROOF_DEVICE static void join(float* sum, const float* other) { *sum += *other; }
  template <int n>
  SHARDPROOF_DEVICE static void add(float* sum, const float (&terms)[n]) {
    SHARDPROOF_UNROLL(8)
    for (int j = 0; j < n; ++j) *sum += terms[j];
  }
  SHARDPROOF_DEVICE static float result(const float* sum) { return *sum; }
};

struct RowMaximum {
  static constexpr int width = 1;
  SHARDPROOF_DEVICE static void nothing(float* most) { *most = -infinity; }
  SHARDPROOF_DEVICE static void join(float* most, const float* other) {
    *most = fn::maximum(*most, *other);
  }
  template <int n>
  SHARDPROOF_DEVICE static void add(float* most, const float (&terms)[n]) {
    SHARDPROOF_UNROLL(8)
    for (int j = 0; j < n; ++j) *most = fn::maximum(*most, terms[j]);
  }
  SHARDPROOF_DEVICE static float result(const float* most) { return *most; }
};

/// The largest term m, and the sum of exp(term - m).
struct RowLogSumExp {
  static constexpr int width = 2;
  SHARDPROOF_DEVICE static void nothing(float* row_stats) {
    row_stats[0] = -infinity;
    row_stats[1] = 0;
  }
  SHARDPROOF_DEVICE static void join(float* row_stats, const float* other) {
    const float m = fn::maximum(row_stats[0], other[0]);
    if (m != -infinity)
      row_stats[1] = row_stats[1] * fn::exp(row_stats[0] - m) + other[1] * fn::exp(other[0] - m);
    row_stats[0] = m;
  }
  template <int n>
  SHARDPROOF_DEVICE static void add(float* row_stats, const float (&terms)[n]) {
    float own[2] = {-infinity, 0};
    SHARDPROOF_UNROLL(8)
    for (int j = 0; j < n; ++j) own[0] = fn::maximum(own[0], terms[j]);
    if (own[0] == -infinity) return;
    SHARDPROOF_UNROLL(8)
    for (int j = 0; j < n; ++j) own[1] += fn::exp(terms[j] - own[0]);
    join(row_stats, own);
  }
  SHARDPROOF_DEVICE static float result(const float* row_stats) {
    return fn::log(row_stats[1]) + row_stats[0];
  }
};

/// Where a team accumulates each output per column.
struct RowColumns {
  float* first;
  int64_t apart;  ///< stride between outputs

  template <int n>
  SHARDPROOF_DEVICE void add(int output, int64_t i, const float (&terms)[n]) const {
    Neighbours<float, n> sums;
    sums.load(first + output * apart, i);
    SHARDPROOF_UNROLL(8)
    for (int j = 0; j < n; ++j) sums.entries[j] += terms[j];
    sums.store(first + output * apart, i);
  }
};

/// For rows of `length` entries, n entries at a time.
template <class Program, int n, int team>
struct RowKernel {
  using Kept = typename Program::Kept;
  static constexpr int threads = row_threads;
  static constexpr size_t join_bytes = 1024;  ///< shared memory; sums per column follow it

  Program program;
  RowOperands operands;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    PerThread<Kept> all;
    block.each_alone([&](int thread) {
      all[thread] = Kept{};
      program.once(operands, all[thread]);
      clear_columns(block, thread);
    });
    each_rows<team>(block, program.rows, [&](int64_t first) {
      block.each_alone([&](int thread) {
        const Row<team, n> row(thread, first, program.rows, program.length);
        if (row.row < row.rows) program.begin(operands, row.row, all[thread]);
      });
      program.each_level([&](auto level) { reduce(level, block, all, first); });
      block.each_alone([&](int thread) { finish(block, thread, first, all[thread]); });
    });
    if (program.in_shared) join_columns(block);
    block.each_alone([&](int thread) {
      if (all[thread].by_zero) operands.report.leave(Fault::division, 0, 0);
    });
  }

 private:
  template <class Level>
  SHARDPROOF_DEVICE void reduce(Level level, Block& block, PerThread<Kept>& all,
                                int64_t first) const {
    using Sums = typename Program::template Sums<Level>;
    PerThread<Sums> sums;
    block.each_alone([&](int thread) {
      Sums own = program.nothing(level);
      Row<team, n>(thread, first, program.rows, program.length).each([&](int64_t i, int64_t at) {
        program.template terms<n>(level, operands, i, at, all[thread], own);
      });
      sums[thread] = own;
    });
    join_team<team>(block, sums, program.join(level), block.shared<Sums>());
    block.each_alone([&](int thread) {
      const Row<team, n> row(thread, first, program.rows, program.length);
      if (row.row < row.rows) program.end(level, operands, row.row, sums[thread], all[thread]);
    });
  }

  SHARDPROOF_DEVICE void finish(Block& block, int thread, int64_t first, Kept& kept) const {
    const RowColumns columns = columns_of(block, thread);
    const Row<team, n> row(thread, first, program.rows, program.length);
    row.each([&](int64_t i, int64_t at) {
      program.template entries<n>(operands, i, at, kept, columns);
    });
    if (row.first_lane()) program.row_outputs(operands, row.row, kept);
  }

  SHARDPROOF_DEVICE float* shared_columns(Block& block, int of_team) const {
    return block.shared<float>(join_bytes) + of_team * program.columns * program.length;
  }
  SHARDPROOF_DEVICE float* partials(Block& block, int output) const {
    return operands.partials + (output * block.blocks() + block.index()) * program.length;
  }
  SHARDPROOF_DEVICE RowColumns columns_of(Block& block, int thread) const {
    if (program.in_shared) return {shared_columns(block, thread / team), program.length};
    return {partials(block, 0), block.blocks() * program.length};
  }

  /// Each thread clears the columns that it accumulates in all rows of its team.
  SHARDPROOF_DEVICE void clear_columns(Block& block, int thread) const {
    const RowColumns columns = columns_of(block, thread);
    for (int output = 0; output < program.columns; ++output)
      for (int64_t i = thread % team * n; i < program.length; i += team * n)
        Neighbours<float, n>{}.store(columns.first + output * columns.apart, i);
  }

  SHARDPROOF_DEVICE void join_columns(Block& block) const {
    block.each([](int) {});
    block.each_alone([&](int thread) {
      for (int output = 0; output < program.columns; ++output)
        for (int64_t i = thread; i < program.length; i += threads) {
          float sum = 0;
          for (int of_team = 0; of_team < threads / team; ++of_team)
            sum += shared_columns(block, of_team)[output * program.length + i];
          partials(block, output)[i] = sum;
        }
    });
  }
};

/// For programs without reductions: n adjacent entries at a time, across row boundaries.
template <class Program, int n>
struct FlatRowKernel {
  Program program;
  RowOperands operands;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    block.each_alone([&](int thread) {
      typename Program::Kept kept{};
      program.once(operands, kept);
      const int64_t step = block.blocks() * block.threads() * n,
                    count = program.rows * program.length;
      for (int64_t at = (block.index() * block.threads() + thread) * n; at < count; at += step) {
        const int64_t row = program.rows == 1 ? 0 : at / program.length;
        const int64_t i = at - row * program.length;
        program.begin(operands, row, kept);
        program.template entries<n>(operands, i, at, kept, RowColumns{});
        if (i == 0) program.row_outputs(operands, row, kept);
      }
      if (kept.by_zero) operands.report.leave(Fault::division, 0, 0);
    });
  }
};

}  // namespace shardproof::SHARDPROOF_MACHINE

// Defines a generated kernel; `...` is its Program.
#ifdef SHARDPROOF_ON_GPU
#define SHARDPROOF_ROW_ENTRY(name, ...)                                                    \
  extern "C" __global__ void __launch_bounds__(256)                                        \
      name(const __grid_constant__ shardproof::SHARDPROOF_MACHINE::RowOperands operands) { \
    using namespace shardproof::SHARDPROOF_MACHINE;                                        \
    Block block;                                                                           \
    const __VA_ARGS__ kernel{{}, operands};                                                \
    kernel(block);                                                                         \
  }
#else
#define SHARDPROOF_ROW_ENTRY(name, ...)                                             \
  extern "C" void name(const shardproof::SHARDPROOF_MACHINE::RowOperands& operands, \
                       int64_t blocks, size_t shared) {                             \
    using namespace shardproof::SHARDPROOF_MACHINE;                                 \
    launch<row_threads>({}, blocks, __VA_ARGS__{{}, operands}, shared);             \
  }
#endif
