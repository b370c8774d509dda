// What the oracle refuses, with the op, the value, the function and the shapes.
#include <gmock/gmock.h>

#include "oracle/testing.h"

namespace shardproof::oracle {
namespace {

using ::testing::HasSubstr;

// The Error that evaluating (or, with `wrt`, differentiating) `f` of the text throws.
Error error_of(const std::string& text, const Sizes& sizes, const std::vector<Tensor>& inputs,
               const std::vector<size_t>& wrt = {}) {
  const auto loaded = load_text(text);
  const size_t f = loaded->find("f");
  try {
    const auto results = evaluate(loaded->program(), f, sizes, inputs);
    std::vector<Tensor> upstream;
    for (const Tensor& result : results) upstream.push_back(filled(result.shape, 1));
    if (!wrt.empty()) gradient(loaded->program(), f, sizes, inputs, upstream, wrt);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error: " << text;
  return Error("", "", "", {}, "none");
}

TEST(Errors, an_index_out_of_range) {
  const Error error = error_of(
      "dim B V M\nfn g(t: f32[V M], ids: i32[B]) -> f32[B M] "
      "{ row = index(\"[V] M, B -> B M\", t, ids) return row + 1 }\n"
      "fn f(t: f32[V M], ids: i32[B]) -> f32[B M] { return g(t, ids) }",
      {{{"B", 2}, {"V", 3}, {"M", 1}}, {}}, {filled({3, 1}, 0), tensor({2}, {1, 3})});
  EXPECT_EQ(error.op, "index");
  EXPECT_EQ(error.value, "row");
  EXPECT_EQ(error.function, "g");
  EXPECT_EQ(error.shapes, (std::vector<Extents>{{3, 1}, {2}}));
  EXPECT_STREQ(
      error.what(),
      "`index` of `row` in `g`: the id at 1 is 3, and there are 3 rows; shapes [3 1], [2]");
}

TEST(Errors, an_index_below_zero) {
  const Error error = error_of(
      "dim B V M\nfn f(ids: i32[B], x: f32[B M]) -> f32[V M] "
      "{ return index_add(\"B, B M -> [V] M\", ids, x) }",
      {{{"B", 1}, {"V", 3}, {"M", 1}}, {}}, {tensor({1}, {-1}), filled({1, 1}, 0)});
  EXPECT_EQ(error.op, "index_add");
  EXPECT_THAT(error.what(), HasSubstr("is -1"));
}

TEST(Errors, a_stretch_beyond_the_end) {
  const std::string dims = "dim A B\n";
  const Sizes sizes{{{"A", 3}, {"B", 2}}, {}};
  const Tensor x = filled({3}, 0), y = filled({2}, 0);
  EXPECT_THAT(error_of(dims + "fn f(x: f32[A]) -> f32[B] { return read(\"[A] -> B\", x, at=2) }",
                       sizes, {x})
                  .what(),
              HasSubstr("entries 2 to 3 of 3"));
  EXPECT_EQ(error_of(dims + "fn f(x: f32[A], y: f32[B], n: i32[]) -> f32[A] "
                            "{ return write(\"[A], B -> A\", x, y, at=n) }",
                     sizes, {x, y, scalar(-1)})
                .op,
            "write");
  EXPECT_THAT(error_of(dims + "fn f(x: f32[A], y: f32[B]) -> f32[A] "
                              "{ return concat(\"B, B -> [A]\", y, y) + x }",
                       sizes, {x, y})
                  .what(),
              HasSubstr("entries 2 to 3 of 3"));
  EXPECT_THAT(
      error_of(dims + "fn f(y: f32[B]) -> f32[A] { return concat(\"B -> [A]\", y) }", sizes, {y})
          .what(),
      HasSubstr("have 2 entries of 3"));
  EXPECT_THAT(error_of(dims + "fn f(y: f32[B]) -> f32[A] { v, _i = top_k(\"B -> A\", y) return v }",
                       sizes, {y})
                  .what(),
              HasSubstr("the 3 largest of 2"));
}

TEST(Errors, a_gradient_has_no_gradient) {
  const Error error = error_of(
      "fn g(x: f32[]) -> f32[] { return x * x }\n"
      "fn f(x: f32[]) -> f32[] { _l, d = value_and_grad(g)(x) return d }",
      {}, {scalar(2)}, {0});
  EXPECT_EQ(error.op, "value_and_grad");
  EXPECT_THAT(error.what(), HasSubstr("gradient of a gradient"));
}

TEST(Errors, integers_have_no_gradient) {
  EXPECT_THAT(error_of("fn f(n: i32[], x: f32[]) -> f32[] { return f32(n) * x }", {},
                       {scalar(1), scalar(2)}, {0})
                  .what(),
              HasSubstr("i32 has no gradient"));
}

TEST(Errors, integers_stay_in_their_range) {
  EXPECT_THAT(error_of("fn f(n: i32[]) -> i32[] { return n * n }", {}, {scalar(65536)}).what(),
              HasSubstr("is no i32"));
  EXPECT_THAT(error_of("fn f(n: u32[]) -> u32[] { return n - 1 }", {}, {scalar(0)}).what(),
              HasSubstr("is no u32"));
  EXPECT_THAT(error_of("fn f(n: i32[]) -> i32[] { return 1 // n }", {}, {scalar(0)}).what(),
              HasSubstr("by zero"));
  EXPECT_THAT(error_of("fn f(x: f32[]) -> i32[] { return i32(x) }", {}, {scalar(NAN)}).what(),
              HasSubstr("cast of nan"));
}

TEST(Errors, inputs_are_checked) {
  const std::string text =
      "dim A\nfn f(x: f32[A], n: i32[], b: bool[], k: key[]) -> f32[A] "
      "{ return where(b, x * f32(n), uniform(\"A\", k)) }";
  const Sizes sizes{{{"A", 2}}, {}};
  const std::vector<Tensor> good = {tensor({2}, {1, 2}), scalar(3), scalar(1), key(1)};
  EXPECT_EQ(run(text, sizes, good)[0].data, (std::vector<double>{3, 6}));
  auto with = [&](size_t at, Tensor x) {
    std::vector<Tensor> inputs = good;
    inputs[at] = std::move(x);
    return error_of(text, sizes, inputs);
  };
  EXPECT_THAT(with(0, filled({3}, 1)).what(), HasSubstr("its shape is to be [2]"));
  EXPECT_EQ(with(0, filled({3}, 1)).value, "x");
  EXPECT_THAT(with(0, tensor({2}, {1})).what(), HasSubstr("as many numbers as entries"));
  EXPECT_THAT(with(1, scalar(0.5)).what(), HasSubstr("0.500000 is no i32"));
  EXPECT_THAT(with(1, scalar(INFINITY)).what(), HasSubstr("is no i32"));
  EXPECT_THAT(with(1, scalar(2147483648.0)).what(), HasSubstr("is no i32"));
  EXPECT_THAT(with(2, scalar(2)).what(), HasSubstr("a bool is 0 or 1"));
  EXPECT_THAT(with(3, scalar(2)).what(), HasSubstr("as many keys as entries"));
  EXPECT_THAT(error_of(text, sizes, {good[0]}).what(), HasSubstr("4 leaves are wanted, and 1"));
}

TEST(Errors, sizes) {
  const std::string text = "dim A\ndim B = 2*|A|\nfn f(x: f32[B]) -> f32[B] { return x }";
  EXPECT_THAT(error_of(text, {}, {filled({2}, 1)}).what(), HasSubstr("|A| has no size"));
  EXPECT_THAT(error_of(text, {{{"A", 1}, {"B", 3}}, {}}, {filled({2}, 1)}).what(),
              HasSubstr("|B| is 2, and is given as 3"));
  const auto loaded = load_text(
      "mesh c\ndim L\nplan f(x: f32[L/c]) -> f32[L/c] "
      "{ return ppermute(\"[L/c] -> [L/c]\", x, by=1) }");
  EXPECT_THROW(evaluate(loaded->program(), 0, {{{"L", 3}}, {{"c", 2}}}, {filled({3}, 1)}), Error);
}

TEST(Errors, conditions_are_evaluated) {
  const std::string text =
      "dim A B\nrequire |A| >= |B|\nfn f(x: f32[A], y: f32[B], e: f32[]) -> f32[] "
      "{ require e > 0 return e * sum(\"A -> \", x) * sum(\"B -> \", y) }";
  EXPECT_EQ(
      run(text, {{{"A", 2}, {"B", 1}}, {}}, {filled({2}, 1), filled({1}, 1), scalar(1)})[0].data[0],
      2);
  EXPECT_EQ(
      error_of(text, {{{"A", 1}, {"B", 2}}, {}}, {filled({1}, 1), filled({2}, 1), scalar(1)}).op,
      "require");
  EXPECT_THAT(
      error_of(text, {{{"A", 2}, {"B", 1}}, {}}, {filled({2}, 1), filled({1}, 1), scalar(0)})
          .what(),
      HasSubstr("e > 0"));
}

TEST(Errors, assumptions_are_evaluated) {
  const std::string text =
      "dim A B V\nfn g(y: i32[A B]) -> i32[A B] { assume 0 <= y < |V| return y }\n"
      "fn f(y: i32[A B]) -> i32[A B] { assume y != 7 return g(y - 1) }\n";
  const Sizes sizes{{{"A", 2}, {"B", 2}, {"V", 4}}, {}};
  EXPECT_EQ(run(text, sizes, {tensor({2, 2}, {1, 2, 3, 4})})[0].data,
            (std::vector<double>{0, 1, 2, 3}));
  const Error called = error_of(text, sizes, {tensor({2, 2}, {1, 2, 5, 4})});
  EXPECT_EQ(called.op, "assume");
  EXPECT_EQ(called.function, "g");
  EXPECT_THAT(called.what(), HasSubstr("0 <= y < |V| does not hold: y[1, 0] is 4"));
  EXPECT_THAT(error_of(text, sizes, {tensor({2, 2}, {1, 2, 3, 7})}).what(),
              HasSubstr("y != 7 does not hold: y[1, 1] is 7"));
  for (const std::string bound : {"x > 0", "x < 0", "x != 0", "x >= -1e30"})
    EXPECT_EQ(
        error_of("fn f(x: f32[]) -> f32[] { assume " + bound + " return x }", {}, {scalar(NAN)}).op,
        "assume");
}

}  // namespace
}  // namespace shardproof::oracle
