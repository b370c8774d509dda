// Products against sums in double: every mixture of f32 and bf16, both orders of every operand,
// sizes on both sides of every block, gaps between rows, operands that a batch repeats, and numbers
// at the ends of f32. Red if a block is left out or added twice, a sum is rounded before its end,
// or a stride is another's.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "kernels/bf16.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/packed_product.h"
#include "kernels/cpu/rounded.h"
#include "kernels/number.h"

namespace shardproof::cpu {
namespace matmul_test {

struct Operand {
  Element element = Element::f32;
  MatrixStrides strides;
  int64_t apart = 0;  ///< from one of the batch to the next
  std::vector<std::byte> data;

  Operand(Element e, int64_t rows, int64_t columns, bool by_rows, int64_t gap, int64_t batch)
      : element(e),
        strides(by_rows ? MatrixStrides{columns + gap, 1} : MatrixStrides{1, rows + gap}) {
    const int64_t entries = (rows + gap) * (columns + gap);
    apart = batch > 1 ? entries : 0;
    data.resize(static_cast<size_t>(entries * batch) * size_of(e));
  }
  void fill(unsigned seed) {
    std::mt19937 rng(seed);
    std::uniform_real_distribution<double> number(-1, 1);
    for (size_t i = 0; i < data.size() / size_of(element); ++i)
      set_number(element, data.data(), static_cast<int64_t>(i), number(rng));
  }
  double at(int64_t b, int64_t i, int64_t j) const {
    return number_at(element, data.data(), b * apart + i * strides.row + j * strides.column);
  }
};

struct Case {
  int64_t m, n, k, batch = 1;
};

constexpr int64_t gap = 3;

/// The next index that is looked at: all of a small extent, some of a large one, always the last.
int64_t next(int64_t i, int64_t extent, int64_t step) {
  return i + 1 == extent ? extent : std::min(i + (extent > 64 ? step : 1), extent - 1);
}

void expect_product(const Case& sizes, std::array<Element, 3> elements, int orders) {
  const auto [m, n, k, batch] = sizes;
  Operand c(elements[0], m, n, orders & 1, gap, batch), a(elements[1], m, k, orders & 2, gap, 1),
      b(elements[2], k, n, orders & 4, gap, batch);
  a.fill(1), b.fill(2), c.fill(3);
  const Operand before = c;
  const Matmul op{
      m,       n, k, a.strides, b.strides, c.strides, {{batch}, {{c.apart}, {a.apart}, {b.apart}}},
      elements};
  const void* inputs[] = {a.data.data(), b.data.data()};
  run(op, c.data.data(), inputs);
  const double round = elements[0] == Element::bf16  ? 0x1p-8
                       : elements[0] == Element::f32 ? 0x1p-24
                                                     : 0x1p-53;
  const double sums = (k + 1.0) * (elements[0] == Element::f64 ? 0x1p-53 : 0x1p-24);
  for (int64_t q = 0; q < batch; ++q)
    for (int64_t i = 0; i < m; i = next(i, m, 17))
      for (int64_t j = 0; j < n; j = next(j, n, 13)) {
        double sum = 0, size = 0;
        for (int64_t p = 0; p < k; ++p) {
          const double term = a.at(q, i, p) * b.at(q, p, j);
          sum += term;
          size += std::abs(term);
        }
        ASSERT_NEAR(c.at(q, i, j), sum, sums * size + round * (std::abs(sum) + sums * size))
            << m << " " << n << " " << k << " orders " << orders << " at " << i << " " << j
            << " of " << name_of(elements[0]) << " " << name_of(elements[1]) << " "
            << name_of(elements[2]);
      }
  if (m > 1 && (orders & 1)) {
    EXPECT_EQ(c.at(0, 0, n), before.at(0, 0, n)) << "a gap between rows";
  }
}

TEST(Matmul, EveryMixtureAndOrder) {
  constexpr std::array both{Element::f32, Element::bf16};
  for (const Case& sizes : {Case{1, 1, 1}, Case{3, 1, 5}, Case{1, 4, 7, 2}, Case{5, 6, 3, 3},
                            Case{33, 40, 35, 2}, Case{1, 70, 300}, Case{70, 1, 300}})
    for (int orders = 0; orders < 8; ++orders) {
      for (Element c : both)
        for (Element a : both)
          for (Element b : both) expect_product(sizes, {c, a, b}, orders);
      expect_product(sizes, {Element::f64, Element::f64, Element::f64}, orders);
    }
}

TEST(Matmul, BlocksOfEveryDim) {
  for (const Case& sizes : {Case{530, 20, 20}, Case{20, 530, 20}, Case{20, 20, 2100},
                            Case{515, 513, 1025}, Case{1030, 520, 1100}, Case{300, 1100, 40},
                            Case{900, 910, 200}, Case{260, 1600, 512}, Case{900, 910, 600}})
    for (int orders : {1, 3, 4, 7})
      for (Element c : {Element::f32, Element::bf16})
        expect_product(sizes, {c, Element::bf16, Element::bf16}, orders);
}

TEST(Matmul, PartsOfF32) {
  for (const Case& sizes : {Case{300, 310, 200}, Case{600, 130, 250}, Case{130, 600, 250},
                            Case{130, 140, 500, 2}, Case{1100, 300, 530}, Case{17000, 200, 160}})
    for (int orders = 0; orders < 8; ++orders)
      expect_product(sizes, {Element::f32, Element::f32, Element::f32}, orders);
}

TEST(Matmul, NothingSummedIsZero) {
  for (Element element : {Element::f64, Element::f32, Element::bf16}) {
    Operand c(element, 2, 3, true, 0, 1);
    c.fill(1);
    const Matmul op{
        2, 3, 0, {1, 1}, {3, 1}, c.strides, {{}, {{}, {}, {}}}, {element, element, element}};
    const void* inputs[] = {c.data.data(), c.data.data()};
    run(op, c.data.data(), inputs);
    for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(number_at(element, c.data.data(), i), 0);
  }
}

TEST(Matmul, TheSameBitsTwice) {
  Operand a(Element::f32, 65, 129, true, 0, 1), b(Element::f32, 129, 77, true, 0, 1);
  a.fill(4), b.fill(5);
  const Matmul op{65, 77, 129, a.strides, b.strides, {77, 1}, {{}, {{}, {}, {}}}};
  std::vector<float> first(65 * 77), second(first);
  const void* inputs[] = {a.data.data(), b.data.data()};
  run(op, first.data(), inputs);
  run(op, second.data(), inputs);
  EXPECT_EQ(first, second);
}

/// Sizes for which tiles are faster, with several blocks of every dim, none of them whole.
constexpr Case of_tiles{150, 600, 300};

struct F32Product {
  Operand a{Element::f32, of_tiles.m, of_tiles.k, true, 0, 1},
      b{Element::f32, of_tiles.k, of_tiles.n, true, 0, 1};
  std::vector<float> c = std::vector<float>(of_tiles.m * of_tiles.n);

  F32Product() { a.fill(6), b.fill(7); }
  float& left(int64_t i, int64_t p) { return entry(a, i, p); }
  float& right(int64_t p, int64_t j) { return entry(b, p, j); }
  float at(int64_t i, int64_t j) const { return c[static_cast<size_t>(i * of_tiles.n + j)]; }
  void compute() {
    const auto [m, n, k, batch] = of_tiles;
    multiply({m, n, k, a.strides, b.strides, {n, 1}, {{}, {{}, {}, {}}}}, c.data(), a.data.data(),
             b.data.data(), false);
  }
  /// The error of an entry, of what sums of f32 may have.
  double share_of_bound(int64_t i, int64_t j) const {
    double sum = 0, size = 0;
    for (int64_t p = 0; p < of_tiles.k; ++p) {
      const double term = a.at(0, i, p) * b.at(0, p, j);
      sum += term;
      size += std::abs(term);
    }
    constexpr double smallest = 0x1p-149;
    return std::abs(at(i, j) - sum) /
           (static_cast<double>(of_tiles.k) * (0x1p-24 * size + smallest));
  }

 private:
  static float& entry(Operand& x, int64_t i, int64_t j) {
    return reinterpret_cast<float*>(x.data.data())[i * x.strides.row + j];
  }
};

/// Red if a product of parts is left out: sums of f32 have 0.2 on tiles, up to 0.5 in vectors.
TEST(Matmul, TilesHaveTheErrorOfF32) {
  F32Product product;
  product.compute();
  double sum = 0, count = 0;
  for (int64_t i = 0; i < of_tiles.m; i += 7)
    for (int64_t j = 0; j < of_tiles.n; j += 11, ++count)
      sum += std::pow(product.share_of_bound(i, j) * static_cast<double>(of_tiles.k), 2);
  const double most = is_worth_packing(of_tiles.m, of_tiles.n, of_tiles.k) ? 0.3 : 1;
  EXPECT_LT(std::sqrt(sum / count), most) << "in roundings of the sum of sizes";
}

/// Numbers that have no three parts of bf16, or whose products do not, in one block of several.
TEST(Matmul, NumbersOutsideOfTiles) {
  constexpr int64_t row = 140, term = 270, column = 530;
  for (const float x :
       {0x1p-149f, 0x1.234568p-130f, 0x1.abcdeep-120f, 0x1.abcdeep-70f, 0x1.fffffep127f})
    for (const float y : {0x1.765432p0f, 0x1.fedcbap-20f, 0x1.765432p-60f, 0x1.fedcbap100f, 0.0f})
      for (const bool is_left : {false, true}) {
        if (x * y > 1e38f) continue;
        F32Product product;
        for (int64_t p = 0; p < of_tiles.k; ++p)
          product.left(row, p) = product.right(p, column) = 0;
        product.left(row, term) = is_left ? x : y;
        product.right(term, column) = is_left ? y : x;
        product.compute();
        EXPECT_LE(product.share_of_bound(row, column), 1) << x << " " << y;
        EXPECT_LE(product.share_of_bound(0, 0), 1);
        EXPECT_LE(product.share_of_bound(row + 1, column + 1), 1);
      }
}

/// Large numbers whose parts have both signs: sums of them must not be infinity less infinity.
TEST(Matmul, SumsBeyondF32AreInfinite) {
  F32Product product;
  for (int64_t p = 0; p < of_tiles.k; ++p)
    product.left(5, p) = 0x1.01p78f, product.right(p, 9) = 0x1.01p60f;
  product.compute();
  EXPECT_EQ(product.at(5, 9), std::numeric_limits<float>::infinity());
}

TEST(Matmul, InfinityAndNaN) {
  constexpr float infinity = std::numeric_limits<float>::infinity(),
                  none = std::numeric_limits<float>::quiet_NaN();
  for (const float size : {1.0f, 0x1p-30f}) {
    F32Product product;
    for (int64_t p = 0; p < of_tiles.k; ++p)
      for (int64_t j = 0; j < of_tiles.n; ++j) product.right(p, j) *= size;
    product.left(140, 290) = infinity;
    product.right(3, 550) = none;
    product.right(290, 7) = 0;
    product.compute();
    for (int64_t i = 0; i < of_tiles.m; ++i)
      for (int64_t j = 0; j < of_tiles.n; ++j) {
        const float sum = product.at(i, j);
        if (j == 550 || (i == 140 && j == 7))
          ASSERT_TRUE(std::isnan(sum)) << i << " " << j;
        else if (i == 140)
          ASSERT_EQ(sum, std::copysign(infinity, product.right(290, j))) << j;
        else
          ASSERT_TRUE(std::isfinite(sum)) << i << " " << j;
      }
  }
}

/// How a product is cut for threads, or what else is in it, does not change an entry.
TEST(Matmul, TilesGiveAnEntryTheSameBitsInEveryPart) {
  if (!is_worth_packing(of_tiles.m, of_tiles.n, of_tiles.k)) GTEST_SKIP() << "no tiles";
  F32Product whole, part;
  whole.compute();
  constexpr int64_t i = 21, j = 75, m = 128, n = 512;
  const Matmul op{
      m, n, of_tiles.k, whole.a.strides, whole.b.strides, {of_tiles.n, 1}, {{}, {{}, {}, {}}}};
  ASSERT_TRUE(is_worth_packing(m, n, of_tiles.k));
  multiply(op, part.c.data(), &whole.left(i, 0), &whole.right(0, j), false);
  for (int64_t r = 0; r < m; ++r)
    for (int64_t q = 0; q < n; ++q) ASSERT_EQ(part.at(r, q), whole.at(i + r, j + q));
}

/// The bits of products of operands that were rounded before.
void expect_rounding(const std::array<Element, 3>& elements, int orders) {
  const auto [m, n, k, batch] = of_tiles;
  constexpr int64_t products = 2;
  Operand a(elements[1], m, k, orders & 2, gap, 1), b(elements[2], k, n, orders & 4, gap, products);
  a.fill(1), b.fill(2);
  for (Operand* each : {&a, &b}) {
    // Ties, which go to the even one, what rounds to infinity, a subnormal, infinity and NaNs.
    const float special[] = {0x1.01p0f,
                             0x1.03p0f,
                             -0x1.03p0f,
                             0x1.0100002p0f,
                             0x1.fffffep127f,
                             0x1p-140f,
                             -0x1p-126f,
                             INFINITY,
                             -INFINITY,
                             NAN,
                             std::bit_cast<float>(0x7fffffff)};
    int64_t i = 11;
    for (const float number : special)
      set_number(each->element, each->data.data(), i += 1009, static_cast<double>(number));
  }
  const auto rounded = [](const Operand& x) {
    Operand made = x;
    made.element = Element::bf16;
    const auto entries = static_cast<int64_t>(x.data.size() / size_of(x.element));
    made.data.resize(static_cast<size_t>(entries) * 2);
    for (int64_t i = 0; i < entries; ++i)
      set_number(Element::bf16, made.data.data(), i, number_at(x.element, x.data.data(), i));
    return made;
  };
  Operand c(elements[0], m, n, orders & 1, gap, products), wanted = c;
  const Operand narrow_a = rounded(a), narrow_b = rounded(b);
  Matmul op{m,
            n,
            k,
            a.strides,
            b.strides,
            c.strides,
            {{products}, {{c.apart}, {a.apart}, {b.apart}}},
            {elements[0], Element::bf16, Element::bf16}};
  const void* const narrow[] = {narrow_a.data.data(), narrow_b.data.data()};
  run(op, wanted.data.data(), narrow);
  op.elements = elements;
  ASSERT_TRUE(has_tiles_for({op}));
  void* const outputs[] = {c.data.data()};
  const void* const inputs[] = {a.data.data(), b.data.data()};
  run(RoundedProduct{op}, outputs, inputs);
  for (int64_t q = 0; q < products; ++q)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const double made = c.at(q, i, j), other = wanted.at(q, i, j);
        ASSERT_TRUE(made == other || (std::isnan(made) && std::isnan(other)))
            << "entry " << i << ", " << j << " of product " << q << ": " << made << ", not "
            << other;
      }
}

TEST(Matmul, OperandsAreRoundedAsTheyAreRead) {
  if (!is_worth_packing(of_tiles.m, of_tiles.n, of_tiles.k)) GTEST_SKIP() << "no tiles";
  constexpr Element wide = Element::f32, narrow = Element::bf16;
  for (const Element c : {wide, narrow})
    for (const auto& [a, b] : {std::pair(wide, narrow), {narrow, wide}, {wide, wide}})
      for (int orders = 0; orders < 8; ++orders) {
        SCOPED_TRACE(orders);
        expect_rounding({c, a, b}, orders);
        if (HasFatalFailure()) return;
      }
}

TEST(Matmul, OperandsAreRoundedOnlyByTiles) {
  const Matmul small{16, 16, 16, {16, 1}, {16, 1}, {16, 1}, {{}, {{}, {}, {}}}};
  EXPECT_FALSE(has_tiles_for({small}));
  Matmul large{512, 512, 512, {512, 1}, {512, 1}, {512, 1}, {{}, {{}, {}, {}}}};
  EXPECT_EQ(has_tiles_for({large}), is_worth_packing(512, 512, 512));
  large.elements[0] = Element::f64;
  EXPECT_FALSE(has_tiles_for({large}));
}

TEST(Matmul, IntegersAreRefused) {
  EXPECT_FALSE(multiplies(Element::i32, Element::i32, Element::i32));
  EXPECT_FALSE(multiplies(Element::f32, Element::f64, Element::f64));
  EXPECT_TRUE(multiplies(Element::f32, Element::bf16, Element::f32));
}

/// Whether columns of a product, whose rows are apart, are right and are made from bf16.
bool makes_columns_of_bf16(bool transposed) {
  constexpr int64_t m = 48, n = 64, k = 80, row = 2 * n;
  const std::vector<uint16_t> a(m * k, f32_to_bf16(1)), b(k * n, f32_to_bf16(2));
  const MatrixStrides of_b = transposed ? MatrixStrides{1, k} : MatrixStrides{n, 1};
  std::vector<uint16_t> narrow(m * row);
  std::vector<float> wide(m * row);
  const Bf16Matrix left{a.data(), {k, 1}}, right{b.data(), of_b};
  bool good = onednn_product(m, n, k, left, right, narrow.data(), row, true, false) &&
              onednn_product(m, n, k, left, right, wide.data(), row, false, false);
  for (int64_t i = 0; i < m * row; ++i) {
    const float expected = i % row < n ? 2 * k : 0;
    good = good && wide[static_cast<size_t>(i)] == expected &&
           bf16_to_f32(narrow[static_cast<size_t>(i)]) == expected;
  }
  return good;
}

/// Threads compute columns of a product. Red if these are converted to f32, which takes twice as
/// long. In a process of its own: the library keeps the level at which it was loaded.
TEST(ProductsDeathTest, ColumnsOfBf16AreNotConverted) {
  if (isa() < Isa::bf16 || !*onednn_version()) GTEST_SKIP() << "no instructions for bf16";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const bool transposed : {false, true})
    EXPECT_EXIT(std::exit(makes_columns_of_bf16(transposed) ? 0 : 1), testing::ExitedWithCode(0),
                "");
}

}  // namespace matmul_test
}  // namespace shardproof::cpu
