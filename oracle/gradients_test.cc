// The backward of each op against central differences, and its rule for ties.
#include "oracle/testing.h"

namespace shardproof::oracle {
namespace {

constexpr double bound = 1e-8;

struct Case {
  const char* what;
  const char* signature;  ///< parameters, `->`, result
  const char* body;
  int64_t ids = 2;
};

// Every op through which a gradient goes.
const Case cases[] = {
    {"neg", "x: f32[A C]) -> f32[A C]", "return -x"},
    {"exp", "x: f32[A C]) -> f32[A C]", "return exp(x)"},
    {"log", "v: f32[A C]) -> f32[A C]", "return log(v)"},
    {"sqrt", "v: f32[A C]) -> f32[A C]", "return sqrt(v)"},
    {"rsqrt", "v: f32[A C]) -> f32[A C]", "return rsqrt(v)"},
    {"tanh", "x: f32[A C]) -> f32[A C]", "return tanh(x)"},
    {"erf", "x: f32[A C]) -> f32[A C]", "return erf(x)"},
    {"sin", "x: f32[A C]) -> f32[A C]", "return sin(x)"},
    {"cos", "x: f32[A C]) -> f32[A C]", "return cos(x)"},
    {"abs", "x: f32[A C]) -> f32[A C]", "return abs(x)"},
    {"floor", "x: f32[A C]) -> f32[A C]", "return floor(x) * x"},
    {"add", "x: f32[A C], y: f32[C]) -> f32[A C]", "return x + y"},
    {"sub", "x: f32[A C], y: f32[C A]) -> f32[A C]", "return x - y"},
    {"mul", "x: f32[A C], y: f32[A]) -> f32[A C]", "return y * x"},
    {"square", "x: f32[A C]) -> f32[A C]", "return x * x"},
    {"div", "x: f32[A C], v: f32[C]) -> f32[A C]", "return x / v"},
    {"div by", "v: f32[A C], x: f32[C]) -> f32[A C]", "return x / v"},
    {"pow", "v: f32[A C], y: f32[C]) -> f32[A C]", "return pow(v, y)"},
    {"maximum", "x y: f32[A C]) -> f32[A C]", "return maximum(x, y)"},
    {"minimum", "x: f32[A C], y: f32[C]) -> f32[A C]", "return minimum(x, y)"},
    {"where", "c: bool[C], x: f32[A C], y: f32[A]) -> f32[A C]", "return where(c, x, y)"},
    {"cast", "x: f32[A C]) -> f32[A C]", "return f32(bf16(x) * bf16(x))"},
    {"stop_grad", "x: f32[A C]) -> f32[A C]", "return x * floor(stop_grad(x) / 1000)"},
    {"total", "r: R) -> f32[]", "return total(each sumsq(r))"},
    {"einsum of one", "x: f32[A C D]) -> f32[D A]", "return einsum(\"A C D -> D A\", x)"},
    {"einsum of two", "x: f32[A C D], y: f32[D A B]) -> f32[B A C]",
     "return einsum(\"A C D, D A B -> B A C\", x, y)"},
    {"einsum of three", "x: f32[A C], y: f32[C D], z: f32[D A B]) -> f32[B]",
     "return einsum(\"A C, C D, D A B -> B\", x, y, z)"},
    {"einsum of lone indices", "x: f32[A C], y: f32[B D]) -> f32[D C]",
     "return einsum(\"A C, B D -> D C\", x, y)"},
    {"einsum of one value twice", "x: f32[A C]) -> f32[S T]",
     "return einsum(\"S C, T C -> S T\", x, x)"},
    {"sum", "x: f32[A C D]) -> f32[C]", "return sum(\"A C D -> C\", x)"},
    {"max", "x: f32[A C D]) -> f32[C]", "return max(\"A C D -> C\", x)"},
    {"min", "x: f32[A C D]) -> f32[A D]", "return min(\"A C D -> A D\", x)"},
    {"expand", "x: f32[A C]) -> f32[A D C]", "return expand(\"A C -> A D C\", x)"},
    {"rearrange", "x: f32[A C D]) -> f32[D (A C)]", "return rearrange(\"A C D -> D (A C)\", x)"},
    {"roll", "x: f32[A C D]) -> f32[A C D]", "return roll(\"A [C] D\", x, by=-2)"},
    {"rev", "x: f32[A C D]) -> f32[A C D]", "return rev(\"A [C] D\", x)"},
    {"read", "x: f32[D C]) -> f32[A C]", "return read(\"[D] C -> A C\", x, at=1)"},
    {"write", "x: f32[D C], y: f32[A C]) -> f32[D C]",
     "return write(\"[D] C, A C -> D C\", x, y, at=2)"},
    {"concat", "x: f32[A C], y: f32[C]) -> f32[E C]", "return concat(\"A C, C -> [E] C\", x, y)"},
    {"index", "x: f32[C D], i: i32[A B]) -> f32[B D A]",
     "return index(\"[C] D, A B -> B D A\", x, i)"},
    {"index, paired", "x: f32[C A], i: i32[A]) -> f32[A]", "return index(\"[C] A, A -> A\", x, i)"},
    {"index_add", "i: i32[A B], x: f32[A B D]) -> f32[C D]",
     "return index_add(\"A B, A B D -> [C] D\", i, x)"},
    {"cumsum", "x: f32[A C D]) -> f32[A C D]", "return cumsum(\"A C D; C\", x)"},
    {"top_k", "x: f32[A D]) -> (f32[A B], i32[A B])",
     "v, i = top_k(\"A D -> A B\", x)\n return v, i"},
    {"sorted", "x: f32[A D]) -> f32[A G]",
     "i = rearrange(\"A D -> A G\", argsort(\"A D; D\", x))\n"
     " return index(\"A [D], A G -> A G\", x, i)"},
    {"scan", "x: f32[A], w: f32[N A]) -> f32[A]",
     "y = scan n in N, c: f32[A] = x { next tanh(c * w[n]) + c }\n return y"},
    {"scan, emitting", "x: f32[A], w: f32[N A]) -> (f32[A], f32[N A])",
     "y, ys = scan n in N, c: f32[A] = x { next sin(c * w[n]) emit c * c }\n return y, ys"},
    {"scan in reverse", "x: f32[A], w: f32[N A]) -> (f32[A], f32[N A])",
     "y, ys = scan n in N reverse, c: f32[A] = x { next sin(c * w[n]) + f32(n) * c emit c * w[n] "
     "}\n"
     " return y, ys"},
    {"scan of two carries", "x y: f32[A], w: f32[A N]) -> (f32[A], f32[A])",
     "p, q = scan n in N, a: f32[A] = x, b: f32[A] = y { next b * w[n], tanh(a) + b }\n"
     " return p, q"},
    {"scan in a scan", "x: f32[A], w: f32[C N A]) -> (f32[A], f32[C])",
     "y, e = scan c in C, p: f32[A] = x {\n"
     "  q = scan n in N, r: f32[A] = p { next sin(r) * w[c, n] + p }\n"
     "  next q emit sum(\"A -> \", q) }\n return y, e"},
    {"call", "x: f32[A]) -> f32[A]", "return g(g(x))"},
    {"a result twice", "x: f32[A]) -> (f32[A], f32[A], f32[A])", "y = x * x\n return y, y, x"},
};

std::string text_of(const Case& each) {
  return std::string("dim A B C D N\ndim S T = A\ndim G = D\ndim E = |A| + 1\n") +
         "record R { x: f32[A] y: f32[C] }\nfn g(x: f32[A]) -> f32[A] { return x * sin(x) }\n" +
         "fn f(" + each.signature + " {\n " + each.body + "\n}\n";
}

TEST(Gradients, of_every_op_are_the_central_differences) {
  Random random(7);
  for (const Case& each : cases) {
    const auto loaded = load_text(text_of(each));
    const size_t f = loaded->find("f");
    for (int round = 0; round < 3; ++round) {
      auto pick = [&](int64_t least, int64_t most) {
        return least + static_cast<int64_t>(random() % static_cast<size_t>(most - least + 1));
      };
      const Sizes sizes{
          {{"A", pick(1, 2)}, {"B", pick(1, 3)}, {"C", pick(2, 3)}, {"D", 4}, {"N", pick(1, 3)}},
          {}};
      const auto inputs = random_inputs(loaded->program(), f, sizes, each.ids, random);
      EXPECT_LT(gradient_error(loaded->program(), f, sizes, inputs, 1000, random), bound)
          << each.what;
    }
  }
}

TEST(Gradients, the_differences_notice_one_part_in_a_million) {
  Random random(3);
  const auto loaded = load_text("dim A\nfn f(x: f32[A]) -> f32[A] { return x * exp(x) }");
  const ir::Program& program = loaded->program();
  const Sizes sizes{{{"A", 3}}, {}};
  const auto inputs = random_inputs(program, 0, sizes, 2, random);
  const auto upstream = random_upstream(inputs, random);
  auto own = gradient(program, 0, sizes, inputs, upstream, {0});
  EXPECT_LT(worst_error(program, 0, sizes, inputs, upstream, {0}, own, 9, random), 1e-9);
  for (double& entry : own[0].data) entry *= 1.000001;
  EXPECT_GT(worst_error(program, 0, sizes, inputs, upstream, {0}, own, 9, random), 9e-7);
}

std::vector<double> slope(const std::string& text, const Sizes& sizes,
                          const std::vector<Tensor>& inputs, size_t leaf = 0) {
  const auto loaded = load_text(text);
  const size_t f = loaded->find("f");
  std::vector<Tensor> upstream;
  for (const Tensor& result : evaluate(loaded->program(), f, sizes, inputs))
    upstream.push_back(filled(result.shape, 1));
  return gradient(loaded->program(), f, sizes, inputs, upstream, {leaf})[0].data;
}

TEST(Gradients, ties) {
  const Sizes sizes{{{"A", 4}, {"B", 2}}, {}};
  const Tensor x = tensor({4}, {1, 3, 3, 1});
  EXPECT_EQ(slope("dim A\nfn f(x: f32[A]) -> f32[] { return max(\"A -> \", x) }", sizes, {x}),
            (std::vector<double>{0, 1, 0, 0}));
  EXPECT_EQ(slope("dim A\nfn f(x: f32[A]) -> f32[] { return min(\"A -> \", x) }", sizes, {x}),
            (std::vector<double>{1, 0, 0, 0}));
  EXPECT_EQ(
      slope("dim A B\nfn f(x: f32[A]) -> f32[B] { v, _i = top_k(\"A -> B\", x) return v * v }",
            sizes, {tensor({4}, {3, 5, 3, 3})}),
      (std::vector<double>{6, 10, 0, 0}));
  for (const char* op : {"maximum", "minimum"}) {
    const std::string text = std::string("fn f(x y: f32[]) -> f32[] { return ") + op + "(x, y) }";
    EXPECT_EQ(slope(text, {}, {scalar(2), scalar(2)}, 0), (std::vector<double>{0})) << op;
    EXPECT_EQ(slope(text, {}, {scalar(2), scalar(2)}, 1), (std::vector<double>{1})) << op;
  }
  EXPECT_EQ(slope("dim A\nfn f(x: f32[A]) -> f32[A] { return relu(x) }", sizes,
                  {tensor({4}, {-1, 0, 2, -0.0})}),
            (std::vector<double>{0, 0, 1, 0}));
}

TEST(Gradients, stop_at_stop_grad_and_integers) {
  EXPECT_EQ(slope("fn f(x: f32[]) -> f32[] { return x * stop_grad(x) }", {}, {scalar(3)}),
            (std::vector<double>{3}));
  EXPECT_EQ(slope("fn f(x: f32[]) -> f32[] { return f32(i32(x)) * x }", {}, {scalar(3.5)}),
            (std::vector<double>{3}));
  EXPECT_EQ(slope("fn f(x: f32[]) -> f32[] { return where(x > 1, x, 0) }", {}, {scalar(3)}),
            (std::vector<double>{1}));
}

// 0 * inf: what `where` does not take has no gradient, whatever its slope.
TEST(Gradients, of_what_is_not_taken_is_zero) {
  EXPECT_EQ(slope("fn f(x: f32[]) -> f32[] { return where(x > 0, 1.5, 2 * x) }", {}, {scalar(1)}),
            (std::vector<double>{0}));
  EXPECT_EQ(slope("fn f(x: f32[]) -> f32[] { return pow(x, 0) + pow(x, 1) }", {}, {scalar(0)}),
            (std::vector<double>{1}));
}

TEST(Gradients, a_leaf_that_is_not_used_has_zero) {
  EXPECT_EQ(slope("dim A\nfn f(x: f32[A], y: f32[]) -> f32[] { return y }", {{{"A", 2}}, {}},
                  {tensor({2}, {1, 2}), scalar(3)}),
            (std::vector<double>{0, 0}));
}

TEST(Gradients, in_a_program_are_those_of_the_oracle) {
  const auto results = run(
      "dim A\nfn g(x y: f32[A]) -> f32[] { return sum(\"A -> \", x * x * y) }\n"
      "fn h(x: f32[A], i: i32[A]) -> f32[A] { return x * f32(i) }\n"
      "fn f(x y: f32[A], i: i32[A]) -> (f32[], f32[A], f32[A]) {\n"
      "  l, gy = value_and_grad(g wrt y)(x, y)\n  gx = grad(h)(x, i, y)\n  return l, gy, gx\n}\n",
      {{{"A", 2}}, {}}, {tensor({2}, {2, 3}), tensor({2}, {5, 7}), tensor({2}, {10, 20})});
  EXPECT_EQ(results[0].data, (std::vector<double>{4 * 5 + 9 * 7}));
  EXPECT_EQ(results[1].data, (std::vector<double>{4, 9}));
  EXPECT_EQ(results[2].data, (std::vector<double>{50, 140}));
}

}  // namespace
}  // namespace shardproof::oracle
