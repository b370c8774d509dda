// Each op's value against loops written out, or known values.
#include "oracle/testing.h"

namespace shardproof::oracle {
namespace ops_test {

const double nan = std::nan("");
const Sizes small{{{"A", 2}, {"B", 2}, {"C", 3}, {"D", 4}}, {}};

std::vector<double> entries(const std::string& text, const std::vector<Tensor>& inputs,
                            const Sizes& sizes = small) {
  return run(text, sizes, inputs).at(0).data;
}

double one(const std::string& expression, std::vector<double> numbers, const Name& dtype = "f32",
           const Name& result = "") {
  static const char* names[] = {"a", "b", "c"};
  std::string text = "fn f(";
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < numbers.size(); ++i) {
    text += std::string(i ? " " : "") + names[i];
    inputs.push_back(scalar(numbers[i]));
  }
  text += ": " + dtype + "[]) -> " + (result.empty() ? dtype : result) + "[] { return " +
          expression + " }";
  return run(text, {}, inputs).at(0).data.at(0);
}

TEST(Ops, functions_of_one_number) {
  EXPECT_DOUBLE_EQ(one("-a", {2}), -2);
  EXPECT_DOUBLE_EQ(one("exp(a)", {1}), 2.718281828459045);
  EXPECT_DOUBLE_EQ(one("log(a)", {10}), 2.302585092994046);
  EXPECT_DOUBLE_EQ(one("sqrt(a)", {2}), 1.4142135623730951);
  EXPECT_DOUBLE_EQ(one("rsqrt(a)", {4}), 0.5);
  EXPECT_DOUBLE_EQ(one("tanh(a)", {0.5}), 0.46211715726000975);
  EXPECT_DOUBLE_EQ(one("erf(a)", {0.5}), 0.5204998778130465);
  EXPECT_DOUBLE_EQ(one("sin(a)", {1}), 0.8414709848078965);
  EXPECT_DOUBLE_EQ(one("cos(a)", {1}), 0.5403023058681398);
  EXPECT_DOUBLE_EQ(one("abs(a)", {-3}), 3);
  EXPECT_DOUBLE_EQ(one("floor(a)", {-1.5}), -2);
  EXPECT_DOUBLE_EQ(one("not a", {1}, "bool"), 0);
  EXPECT_DOUBLE_EQ(one("-a", {7}, "i32"), -7);
}

TEST(Ops, functions_of_two_numbers) {
  EXPECT_DOUBLE_EQ(one("a + b", {2, 3}), 5);
  EXPECT_DOUBLE_EQ(one("a - b", {2, 3}), -1);
  EXPECT_DOUBLE_EQ(one("a * b", {2, 3}), 6);
  EXPECT_DOUBLE_EQ(one("a / b", {3, 2}), 1.5);
  EXPECT_DOUBLE_EQ(one("pow(a, b)", {2, 10}), 1024);
  EXPECT_DOUBLE_EQ(one("maximum(a, b)", {2, 3}), 3);
  EXPECT_DOUBLE_EQ(one("minimum(a, b)", {2, 3}), 2);
  EXPECT_DOUBLE_EQ(one("a == b", {2, 2}, "f32", "bool"), 1);
  EXPECT_DOUBLE_EQ(one("a != b", {2, 2}, "f32", "bool"), 0);
  EXPECT_DOUBLE_EQ(one("a < b", {2, 2}, "f32", "bool"), 0);
  EXPECT_DOUBLE_EQ(one("a <= b", {2, 2}, "f32", "bool"), 1);
  EXPECT_DOUBLE_EQ(one("a > b", {3, 2}, "f32", "bool"), 1);
  EXPECT_DOUBLE_EQ(one("a >= b", {1, 2}, "f32", "bool"), 0);
  EXPECT_DOUBLE_EQ(one("a and b", {1, 0}, "bool"), 0);
  EXPECT_DOUBLE_EQ(one("a or b", {1, 0}, "bool"), 1);
}

TEST(Ops, integers_are_divided_towards_minus_infinity) {
  for (int a = -7; a <= 7; ++a)
    for (int b : {-3, -2, 2, 3}) {
      const double q = one("a // b", {double(a), double(b)}, "i32");
      const double r = one("a % b", {double(a), double(b)}, "i32");
      EXPECT_EQ(q * b + r, a);
      EXPECT_TRUE(r == 0 || (r < 0) == (b < 0)) << a << " % " << b;
      EXPECT_LT(std::abs(r), std::abs(b));
    }
  EXPECT_EQ(one("a // b", {4294967295.0, 2}, "u32"), 2147483647.0);
}

TEST(Ops, nan_passes_through) {
  for (const char* f : {"a + b", "a * b", "maximum(a, b)", "minimum(a, b)", "a - b", "a / b"}) {
    EXPECT_TRUE(std::isnan(one(f, {nan, 1}))) << f;
    EXPECT_TRUE(std::isnan(one(f, {1, nan}))) << f;
  }
  const Tensor x = tensor({3}, {1, nan, 2});
  EXPECT_TRUE(
      std::isnan(entries("dim C\nfn f(x: f32[C]) -> f32[] { return max(\"C ->\", x) }", {x})[0]));
  EXPECT_TRUE(
      std::isnan(entries("dim C\nfn f(x: f32[C]) -> f32[] { return min(\"C ->\", x) }", {x})[0]));
  EXPECT_EQ(entries("dim C\nfn f(x: f32[C]) -> i32[] { return argmax(\"C ->\", x) }", {x})[0], 1);
  EXPECT_EQ(entries("dim C\nfn f(x: f32[C]) -> i32[C] { return argsort(\"C; C\", x) }", {x}),
            (std::vector<double>{0, 2, 1}));
}

TEST(Ops, where_does_not_multiply) {
  EXPECT_EQ(entries("dim C\nfn f(c: bool[C], a: f32[C]) -> f32[C] { return where(c, a, 0) }",
                    {tensor({3}, {1, 0, 1}), tensor({3}, {5, nan, 7})}),
            (std::vector<double>{5, 0, 7}));
}

TEST(Ops, casts) {
  EXPECT_EQ(one("bf16(a)", {1.23456789}, "f32", "bf16"),
            1.23456789);  // the erasure has no rounding
  EXPECT_EQ(one("i32(a)", {2.9}, "f32", "i32"), 2);
  EXPECT_EQ(one("i32(a)", {-2.9}, "f32", "i32"), -2);
  EXPECT_EQ(one("bool(a)", {-0.5}, "f32", "bool"), 1);
  EXPECT_EQ(one("f32(a)", {3}, "i32", "f32"), 3);
  EXPECT_EQ(one("f32(a)", {1}, "bool", "f32"), 1);
}

TEST(Ops, numbers_and_sizes) {
  EXPECT_EQ(entries("dim A C\nconst k = 2.5 fn f(x: f32[A C]) -> f32[] "
                    "{ return sum(\"A C ->\", x) * k * |C| / |A| }",
                    {filled({2, 3}, 1)}),
            (std::vector<double>{6 * 2.5 * 3 / 2}));
}

TEST(Ops, dims_are_matched_by_name) {
  const Tensor x = tensor({2, 3}, {0, 1, 2, 3, 4, 5}), y = tensor({3, 2}, {0, 10, 20, 30, 40, 50}),
               z = tensor({3}, {100, 200, 300});
  const auto sum =
      entries("dim A C\nfn f(x: f32[A C], y: f32[C A], z: f32[C]) -> f32[A C] { return x + y + z }",
              {x, y, z});
  for (size_t a = 0; a < 2; ++a)
    for (size_t c = 0; c < 3; ++c)
      EXPECT_EQ(sum[3 * a + c], x.data[3 * a + c] + y.data[2 * c + a] + z.data[c]);
}

TEST(Ops, einsum_is_a_sum_of_products) {
  Random random(1);
  const Tensor x = normal_tensor(random, {2, 3, 4}), y = normal_tensor(random, {4, 2, 2}),
               z = normal_tensor(random, {3});
  // b is a batch index, d and c are summed, a is kept from y alone.
  const auto got = entries(
      "dim A B C D\nfn f(x: f32[B C D], y: f32[D A B], z: f32[C]) -> f32[A B] "
      "{ return einsum(\"B C D, D A B, C -> A B\", x, y, z) }",
      {x, y, z});
  for (size_t a = 0; a < 2; ++a)
    for (size_t b = 0; b < 2; ++b) {
      double sum = 0;
      for (size_t c = 0; c < 3; ++c)
        for (size_t d = 0; d < 4; ++d)
          sum += x.data[12 * b + 4 * c + d] * y.data[4 * d + 2 * a + b] * z.data[c];
      EXPECT_NEAR(got[2 * a + b], sum, 1e-13);
    }
}

TEST(Ops, einsum_with_indices_of_one_operand) {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), y = tensor({4}, {1, 10, 100, 1000});
  EXPECT_EQ(entries("dim A C D\nfn f(x: f32[A C], y: f32[D]) -> f32[C] "
                    "{ return einsum(\"A C, D -> C\", x, y) }",
                    {x, y}),
            (std::vector<double>{5 * 1111, 7 * 1111, 9 * 1111}));
  EXPECT_EQ(
      entries("dim A C\nfn f(x: f32[A C]) -> f32[C A] { return einsum(\"A C -> C A\", x) }", {x}),
      (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(entries("dim A C D\nfn f(x: f32[A C], y: f32[D]) -> f32[D A] "
                    "{ return einsum(\"A C, D -> D A\", x, y) }",
                    {x, y}),
            (std::vector<double>{6, 15, 60, 150, 600, 1500, 6000, 15000}));
}

TEST(Ops, einsum_of_two_names_of_one_dim) {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(entries("dim A C\ndim S T = A\nfn f(x: f32[A C]) -> f32[S T] "
                    "{ return einsum(\"S C, T C -> S T\", x, x) }",
                    {x}),
            (std::vector<double>{14, 32, 32, 77}));
}

TEST(Ops, reductions) {
  const Tensor x = tensor({2, 3, 2}, {1, 5, 2, 6, 9, 3, 4, 4, 8, 0, 7, 2});
  auto reduced = [&](const std::string& op, const std::string& right, const Name& dtype) {
    return entries("dim A B C\nfn f(x: f32[A C B]) -> " + dtype + "[" + right + "] { return " + op +
                       "(\"A C B -> " + right + "\", x) }",
                   {x});
  };
  EXPECT_EQ(reduced("sum", "A B", "f32"), (std::vector<double>{12, 14, 19, 6}));
  EXPECT_EQ(reduced("sum", "C", "f32"), (std::vector<double>{14, 16, 21}));
  EXPECT_EQ(reduced("sum", "", "f32"), (std::vector<double>{51}));
  EXPECT_EQ(reduced("max", "A B", "f32"), (std::vector<double>{9, 6, 8, 4}));
  EXPECT_EQ(reduced("min", "C", "f32"), (std::vector<double>{1, 0, 2}));
  EXPECT_EQ(reduced("argmax", "A B", "i32"), (std::vector<double>{2, 1, 1, 0}));
  EXPECT_EQ(reduced("argmax", "A C", "i32"), (std::vector<double>{1, 1, 0, 0, 0, 0}));
}

TEST(Ops, expand_repeats) {
  EXPECT_EQ(
      entries("dim A C D\nfn f(x: f32[A C]) -> f32[A D C] { return expand(\"A C -> A D C\", x) }",
              {tensor({2, 1}, {1, 2})}, {{{"A", 2}, {"C", 1}, {"D", 3}}, {}}),
      (std::vector<double>{1, 1, 1, 2, 2, 2}));
}

TEST(Ops, rearrange_orders_groups_and_renames) {
  const Tensor x = tensor({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const std::string dims = "dim A B C\ndim S T = A\ndim H = (C B)\n";
  EXPECT_EQ(entries(dims + "fn f(x: f32[A C B]) -> f32[B (A C)] "
                           "{ return rearrange(\"A C B -> B (A C)\", x) }",
                    {x}),
            (std::vector<double>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(
      entries(dims + "fn f(x: f32[A C B]) -> f32[H A] { return rearrange(\"A C B -> H A\", x) }",
              {x}),
      (std::vector<double>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}));
  EXPECT_EQ(
      entries(dims + "fn f(x: f32[H A]) -> f32[B S C] { return rearrange(\"H A -> B S C\", x) }",
              {tensor({6, 2}, {0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11})}),
      (std::vector<double>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
  // Two names of one dim: S stays S, whatever its place.
  EXPECT_EQ(entries(dims + "fn f(x: f32[S T]) -> f32[T S] { return rearrange(\"S T -> T S\", x) }",
                    {tensor({2, 2}, {1, 2, 3, 4})}),
            (std::vector<double>{1, 3, 2, 4}));
}

TEST(Ops, read_write_concat) {
  const Tensor x = tensor({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const std::string dims = "dim A B C D\n";
  EXPECT_EQ(
      entries(dims + "fn f(x: f32[D B]) -> f32[B] { return read(\"[D] B -> B\", x, at=2) }", {x}),
      (std::vector<double>{4, 5}));
  EXPECT_EQ(entries(dims + "fn f(x: f32[D B], n: i32[]) -> f32[A B] "
                           "{ return read(\"[D] B -> A B\", x, at=n) }",
                    {x, scalar(1)}),
            (std::vector<double>{2, 3, 4, 5}));
  EXPECT_EQ(entries(dims + "fn f(x: f32[D B], y: f32[A B]) -> f32[D B] "
                           "{ return write(\"[D] B, A B -> D B\", x, y, at=1) }",
                    {x, tensor({2, 2}, {10, 11, 12, 13})}),
            (std::vector<double>{0, 1, 10, 11, 12, 13, 6, 7}));
  EXPECT_EQ(entries(dims + "fn f(x: f32[D B], y: f32[D]) -> f32[D B] "
                           "{ return write(\"D [B], D -> D B\", x, y, at=1) }",
                    {x, tensor({4}, {10, 11, 12, 13})}),
            (std::vector<double>{0, 10, 2, 11, 4, 12, 6, 13}));
  EXPECT_EQ(entries(dims + "dim E = 3\nfn f(x: f32[A B], y: f32[A]) -> f32[A E] "
                           "{ return concat(\"A B, A -> A [E]\", x, y) }",
                    {tensor({2, 2}, {0, 1, 2, 3}), tensor({2}, {8, 9})}),
            (std::vector<double>{0, 1, 8, 2, 3, 9}));
}

TEST(Ops, index_pairs_shared_dims) {
  const Tensor table = tensor({3, 2}, {0, 1, 10, 11, 20, 21});
  EXPECT_EQ(entries("dim A B C\nfn f(t: f32[C B], i: i32[A]) -> f32[A B] "
                    "{ return index(\"[C] B, A -> A B\", t, i) }",
                    {table, tensor({2}, {2, 0})}),
            (std::vector<double>{20, 21, 0, 1}));
  // One row for each b: the diagonal of what an unpaired index would give.
  EXPECT_EQ(entries("dim A B C\nfn f(t: f32[C B], i: i32[B]) -> f32[B] "
                    "{ return index(\"[C] B, B -> B\", t, i) }",
                    {table, tensor({2}, {2, 1})}),
            (std::vector<double>{20, 11}));
}

TEST(Ops, index_add_adds_repeated_rows) {
  EXPECT_EQ(entries("dim A B C\nfn f(i: i32[A], x: f32[A B]) -> f32[C B] "
                    "{ return index_add(\"A, A B -> [C] B\", i, x) }",
                    {tensor({2}, {2, 2}), tensor({2, 2}, {1, 2, 3, 4})}),
            (std::vector<double>{0, 0, 0, 0, 4, 6}));
  EXPECT_EQ(entries("dim A B C\nfn f(i: i32[A], x: f32[A B]) -> f32[B C A] "
                    "{ return index_add(\"A, A B -> B [C] A\", i, x) }",
                    {tensor({2}, {2, 0}), tensor({2, 2}, {1, 2, 3, 4})}),
            (std::vector<double>{0, 3, 0, 0, 1, 0, 0, 4, 0, 0, 2, 0}));
}

TEST(Ops, iota_zeros_roll_rev) {
  EXPECT_EQ(entries("dim A C\nfn f() -> i32[A C] { return iota(\"A C; C\") }", {}),
            (std::vector<double>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(entries("dim A C\nfn f() -> i32[A C] { return iota(\"A C; A\") }", {}),
            (std::vector<double>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(entries("dim A\nfn f() -> f32[A] { return zeros(f32[A]) }", {}),
            (std::vector<double>{0, 0}));
  const Tensor x = tensor({3, 2}, {0, 1, 10, 11, 20, 21});
  EXPECT_EQ(
      entries("dim B C\nfn f(x: f32[C B]) -> f32[C B] { return roll(\"[C] B\", x, by=1) }", {x}),
      (std::vector<double>{20, 21, 0, 1, 10, 11}));
  EXPECT_EQ(entries("dim B C\nfn f(x: f32[C B], n: i32[]) -> f32[C B] "
                    "{ return roll(\"[C] B\", x, by=n) }",
                    {x, scalar(-4)}),
            (std::vector<double>{10, 11, 20, 21, 0, 1}));
  EXPECT_EQ(entries("dim B C\nfn f(x: f32[C B]) -> f32[C B] { return rev(\"[C] B\", x) }", {x}),
            (std::vector<double>{20, 21, 10, 11, 0, 1}));
}

TEST(Ops, order) {
  const Tensor x = tensor({2, 4}, {3, 1, 3, 2, 0, 0, 5, 0});
  EXPECT_EQ(entries("dim B D\nfn f(x: f32[B D]) -> f32[B D] { return cumsum(\"B D; D\", x) }", {x}),
            (std::vector<double>{3, 4, 7, 9, 0, 0, 5, 5}));
  EXPECT_EQ(entries("dim B D\nfn f(x: f32[B D]) -> f32[B D] { return cumsum(\"B D; B\", x) }", {x}),
            (std::vector<double>{3, 1, 3, 2, 3, 1, 8, 2}));
  EXPECT_EQ(
      entries("dim B D\nfn f(x: f32[B D]) -> i32[B D] { return argsort(\"B D; D\", x) }", {x}),
      (std::vector<double>{1, 3, 0, 2, 0, 1, 3, 2}));
  const auto top =
      run("dim B D A\nfn f(x: f32[B D]) -> (f32[B A], i32[B A]) { v, i = top_k(\"B D -> B A\", x) "
          "return v, i }",
          {{{"A", 3}, {"B", 2}, {"D", 4}}, {}}, {x});
  EXPECT_EQ(top[0].data, (std::vector<double>{3, 3, 2, 5, 0, 0}));
  EXPECT_EQ(top[1].data, (std::vector<double>{0, 2, 3, 2, 0, 1}));
}

TEST(Ops, records_are_added_and_mapped) {
  EXPECT_EQ(entries("dim A\nrecord R { x: f32[A] y: f32[] } "
                    "fn f(r: R) -> f32[] { return total(each sumsq(r)) }",
                    {tensor({2}, {3, 4}), scalar(5)}),
            (std::vector<double>{50}));
}

}  // namespace ops_test
}  // namespace shardproof::oracle
