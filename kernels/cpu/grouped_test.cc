// Grouped products and sums against loops in double: ids that repeat, that no entry has, of other
// ranks, and out of range; tables by rows and by columns. Red if an entry meets another's matrix,
// is left out or added twice, or a stride is another's.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "kernels/cpu/grouped.h"
#include "kernels/number.h"

namespace shardproof::cpu {
namespace {

constexpr int64_t entries = 23, rows = 2, columns = 5, terms = 7, matrices = 4;

std::vector<std::byte> numbers(Element element, int64_t count, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<std::byte> data(static_cast<size_t>(count) * size_of(element));
  for (int64_t i = 0; i < count; ++i) set_number(element, data.data(), i, number(rng));
  return data;
}

/// Ids from -1 (of another rank, if `partial`) or 1; none is 2.
std::vector<int32_t> drawn_ids(bool partial) {
  std::mt19937 rng(5);
  std::vector<int32_t> ids;
  for (int64_t e = 0; e < entries; ++e) {
    const auto id = static_cast<int32_t>(rng() % 4);
    ids.push_back(id == 2 ? 3 : id == 0 && partial ? -1 : id);
  }
  return ids;
}

void expect_grouped_product(Element element, bool by_columns, bool partial) {
  const std::vector<std::byte> a = numbers(element, entries * rows * terms, 1),
                               table = numbers(element, matrices * terms * columns, 2);
  const std::vector<int32_t> ids = drawn_ids(partial);
  std::vector<std::byte> c = numbers(element, entries * rows * columns, 3);
  GroupedProduct op;
  op.product.m = rows;
  op.product.n = columns;
  op.product.k = terms;
  op.product.a = {terms, 1};
  op.product.b = by_columns ? MatrixStrides{1, terms} : MatrixStrides{columns, 1};
  op.product.c = {1, rows};
  op.product.elements = {element, element, element};
  op.product.batch = {{entries}, {{rows * columns}, {rows * terms}, {1}}};
  op.window = {0, matrices, terms * columns, partial};
  void* outputs[] = {c.data()};
  const void* inputs[] = {a.data(), table.data(), ids.data()};
  run(op, outputs, inputs);
  const double unit = element == Element::bf16 ? 0x1p-7 : element == Element::f32 ? 0x1p-20 : 1e-14;
  for (int64_t e = 0; e < entries; ++e)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0, size = 0;
        const int64_t id = ids[static_cast<size_t>(e)];
        for (int64_t p = 0; p < terms && id >= 0; ++p) {
          const double x = number_at(element, a.data(), (e * rows + i) * terms + p),
                       y = number_at(
                           element, table.data(),
                           id * terms * columns + p * op.product.b.row + j * op.product.b.column);
          sum += x * y;
          size += std::abs(x * y);
        }
        const double got = number_at(element, c.data(), e * rows * columns + i + j * rows);
        ASSERT_NEAR(got, sum, unit * size) << e << " " << i << " " << j;
      }
}

TEST(GroupedProduct, MultipliesEachEntryWithTheMatrixOfItsId) {
  for (Element element : {Element::f64, Element::f32, Element::bf16})
    for (bool by_columns : {false, true})
      for (bool partial : {false, true}) expect_grouped_product(element, by_columns, partial);
}

TEST(GroupedProduct, RefusesAnIdBeyondTheTable) {
  GroupedProduct op;
  op.product.batch = {{2}, {{1}, {1}, {1}}};
  op.window = {0, 3, 1, false};
  float c[2], a[2] = {1, 1}, table[3] = {1, 2, 3};
  const int32_t ids[] = {1, 3};
  void* outputs[] = {c};
  const void* inputs[] = {a, table, ids};
  EXPECT_THROW(run(op, outputs, inputs), std::out_of_range);
}

void expect_grouped_sum(Element element, bool partial) {
  const std::vector<std::byte> a = numbers(element, entries * rows, 1),
                               b = numbers(element, entries * columns, 2);
  const std::vector<int32_t> ids = drawn_ids(partial);
  std::vector<float> sums(matrices * rows * columns, 7.0f);
  GroupedSum op;
  op.product.m = rows;
  op.product.n = columns;
  op.product.a.row = 1;
  op.product.b.column = 1;
  op.product.c = {columns, 1};
  op.product.elements = {Element::f32, element, element};
  op.product.batch = {{entries}, {{1}, {rows}, {columns}}};
  op.window = {0, matrices, rows * columns, partial};
  op.count = matrices * rows * columns;
  void* outputs[] = {sums.data()};
  const void* inputs[] = {ids.data(), a.data(), b.data()};
  run(op, outputs, inputs);
  for (int64_t id = 0; id < matrices; ++id)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t e = 0; e < entries; ++e)
          if (ids[static_cast<size_t>(e)] == id)
            sum += number_at(element, a.data(), e * rows + i) *
                   number_at(element, b.data(), e * columns + j);
        ASSERT_NEAR(sums[static_cast<size_t>((id * rows + i) * columns + j)], sum, 1e-5);
      }
}

TEST(GroupedSum, AddsAColumnTimesARowWhereTheIdSays) {
  for (Element element : {Element::f32, Element::bf16})
    for (bool partial : {false, true}) expect_grouped_sum(element, partial);
}

}  // namespace
}  // namespace shardproof::cpu
