// Grouped ops on the emulator against kernels/cpu: ids of other ranks and out of range, and more
// entries than are sorted at once. properties/fused compares the values with their definition.
#include <gtest/gtest.h>

#include "kernels/cpu/grouped.h"
#include "kernels/cuda/fused/kernels.h"

namespace shardproof {
namespace grouped_test {

constexpr int64_t rows = 3, columns = 5, matrices = 4;

/// Small multiples of 1/8, so that sums are exact.
std::vector<float> numbers(int64_t count) {
  std::vector<float> made;
  for (int64_t i = 0; i < count; ++i)
    made.push_back(static_cast<float>(i * 2654435761 % 97 - 48) / 8);
  return made;
}

/// From the window's first - 2 to beyond its end, where there are other ranks.
std::vector<int32_t> ids_of(int64_t count, const IndexWindow& window) {
  const int64_t margin = window.partial ? 2 : 0;
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(
        static_cast<int32_t>(window.first - margin + i * 40503 % (window.extent + 2 * margin)));
  return ids;
}

template <class Op>
Fault run_emulated(const Op& op, std::vector<float>& to, const void* const* inputs) {
  std::vector<double> room(emulated::scratch_bytes / sizeof(double));
  Fault fault;
  void* outputs[] = {to.data()};
  emulated::run({nullptr, &fault, 0, room.data()}, op, outputs, inputs);
  return fault;
}

template <class Op>
void expect_as_on_cpu(const Op& op, size_t count, const void* const* inputs) {
  std::vector<float> wanted(count, 7), made(count, 9);
  void* outputs[] = {wanted.data()};
  cpu::run(op, outputs, inputs);
  EXPECT_FALSE(run_emulated(op, made, inputs).taken);
  EXPECT_EQ(made, wanted);
}

GroupedProduct product_of(int64_t entries, int64_t terms, const IndexWindow& window) {
  GroupedProduct op;
  op.product.m = rows;
  op.product.n = columns;
  op.product.k = terms;
  op.product.a = {terms, 1};
  op.product.b = {columns, 1};
  op.product.c = {columns, 1};
  op.product.batch = {{entries}, {{rows * columns}, {rows * terms}, {1}}};
  op.window = window;
  return op;
}

void expect_products(int64_t entries, int64_t terms, const IndexWindow& window) {
  const GroupedProduct op = product_of(entries, terms, window);
  const std::vector<float> a = numbers(entries * rows * terms),
                           table = numbers(matrices * terms * columns);
  const std::vector<int32_t> ids = ids_of(entries, window);
  const void* inputs[] = {a.data(), table.data(), ids.data()};
  expect_as_on_cpu(op, static_cast<size_t>(entries * rows * columns), inputs);
}

void expect_sums(int64_t entries, const IndexWindow& window) {
  GroupedSum op;
  op.product.m = rows;
  op.product.n = columns;
  op.product.a.row = op.product.b.column = 1;
  op.product.c = {columns, 1};
  op.product.batch = {{entries}, {{1}, {rows}, {columns}}};
  op.window = window;
  op.count = matrices * rows * columns;
  const std::vector<float> a = numbers(entries * rows), b = numbers(entries * columns);
  const std::vector<int32_t> ids = ids_of(entries, window);
  const void* inputs[] = {ids.data(), a.data(), b.data()};
  expect_as_on_cpu(op, static_cast<size_t>(op.count), inputs);
}

TEST(GroupedKernels, LeaveOtherRanksEntriesOut) {
  for (int64_t entries : {0, 1, 63, 200})
    for (bool partial : {false, true}) {
      expect_products(entries, 70, {6, matrices, 70 * columns, partial});
      expect_sums(entries, {6, matrices, rows * columns, partial});
    }
}

TEST(GroupedKernels, TakeMoreEntriesThanAreSortedAtOnce) {
  expect_products(70'000, 2, {0, matrices, 2 * columns, false});
  expect_sums(70'000, {0, matrices, rows * columns, false});
}

TEST(GroupedKernels, ReportAnIdBeyondTheTable) {
  const GroupedProduct op = product_of(2, 1, {0, 3, columns, false});
  const std::vector<float> a = numbers(2 * rows), table = numbers(3 * columns);
  std::vector<float> made(2 * rows * columns);
  const int32_t ids[] = {1, 3};
  const void* inputs[] = {a.data(), table.data(), ids};
  const Fault fault = run_emulated(op, made, inputs);
  EXPECT_EQ(fault.kind, uint32_t{Fault::index});
  EXPECT_EQ(fault.value, 3);
}

}  // namespace grouped_test
}  // namespace shardproof
