// Plans: loops over devices, and collectives that give way to their operand.
#include "oracle/testing.h"

namespace shardproof::oracle {
namespace {

struct Compared {
  double value, gradient;
};

// The function `f` and the plan `p` of one text at the same random inputs.
Compared compare(const std::string& text, const Sizes& sizes, int64_t ids = 2) {
  Random random(11);
  const auto loaded = load_text(text);
  const ir::Program& program = loaded->program();
  const size_t f = loaded->find("f"), p = loaded->find("p");
  const auto inputs = random_inputs(program, f, sizes, ids, random);
  const auto wanted = evaluate(program, f, sizes, inputs);
  const auto upstream = random_upstream(wanted, random);
  const auto wrt = float_leaves(program.functions[f]);
  return {distance(wanted, evaluate(program, p, sizes, inputs)),
          distance(gradient(program, f, sizes, inputs, upstream, wrt),
                   gradient(program, p, sizes, inputs, upstream, wrt))};
}

void expect_equal(const std::string& text, const Sizes& sizes, int64_t ids = 2) {
  const Compared got = compare(text, sizes, ids);
  EXPECT_LT(got.value, 1e-13) << text;
  EXPECT_LT(got.gradient, 1e-13) << text;
}

TEST(Erasure, collectives_marks_and_casts_are_the_identity) {
  expect_equal(
      "mesh d t\ndim B M\n"
      "fn f(x: f32[B M]) -> f32[B M] { return x * x }\n"
      "plan p(x: f32[B/d M/t]) -> f32[B/d M/t] {\n"
      "  g = save(all_gather(\"B/d M/t -> B/d M\", x))\n"
      "  s = slice(\"B/d M -> B/d M/t\", bf16(g))\n"
      "  a = all_to_all(\"B/d M/t -> B/d/t M\", s)\n"
      "  z = zero_pad(\"B/d/t M -> B/d M {U_t}\", a)\n"
      "  y = psum_scatter(\"B/d M {U_t} -> B/d M/t\", z)\n"
      "  n = zero_nonroot(\"B/d M -> B/d M {U_t}\", g)\n"
      "  r = all_reduce(\"B/d M {U_t} -> B/d M {I_t}\", n)\n"
      "  return f32(y) * slice(\"B/d M -> B/d M/t\", fan_out(\"B/d M {I_t} -> B/d M\", r))\n}\n",
      {{{"B", 2}, {"M", 4}}, {{"d", 2}, {"t", 2}}});
}

TEST(Erasure, a_collective_renames_on_the_left) {
  expect_equal(
      "mesh t\ndim B L K D\ndim S T = L\ndim H = (K D)\n"
      "fn f(x: f32[L H], y: f32[L]) -> f32[S T] "
      "{ return einsum(\"S K D, T -> S T\", x, y) }\n"
      "plan p(x: f32[L/t H], y: f32[L/t]) -> f32[S T] {\n"
      "  a = all_gather(\"S/t (K D) -> S (K D)\", x)\n"
      "  return einsum(\"S (K D), T -> S T\", a, all_gather(\"T/t -> T\", y))\n}\n",
      {{{"L", 4}, {"K", 3}, {"D", 2}}, {{"t", 2}}});
}

TEST(Erasure, index_unreduced_is_index) {
  expect_equal(
      "mesh t\ndim B M V\n"
      "fn f(w: f32[V M], i: i32[B]) -> f32[B M] { return index(\"[V] M, B -> B M\", w, i) }\n"
      "plan p(w: f32[V/t M], i: i32[B]) -> f32[B M]{U_t} {\n"
      "  return index_unreduced(\"[V/t] M, B -> B M {U_t}\", w, i)\n}\n",
      {{{"B", 5}, {"M", 3}, {"V", 4}}, {{"t", 2}}}, 4);
}

// |L| = 6 over 3 devices: by=k moves blocks of two.
TEST(Erasure, ppermute_is_a_roll_of_blocks) {
  for (int by : {1, -1, 2, 4}) {
    expect_equal(
        "mesh c e\ndim B L\n"
        "fn f(x: f32[B L]) -> f32[B L] { return roll(\"B [L]\", x, by=" +
            std::to_string(4 * by) + ") }\nplan p(x: f32[B L/c/e]) -> f32[B L/c/e] {\n" +
            "  return ppermute(\"B [L/c/e] -> B [L/c/e]\", x, by=" + std::to_string(by) + ")\n}\n",
        {{{"B", 2}, {"L", 12}}, {{"c", 3}, {"e", 2}}});
  }
}

TEST(Erasure, a_ring_is_a_scan_over_blocks) {
  expect_equal(
      "mesh c\ndim L D\ndim S T = L\n"
      "fn f(q k v: f32[L D]) -> f32[L D] {\n"
      "  s = tanh(einsum(\"S D, T D -> S T\", q, k)) * f32(iota(\"S T; T\") <= iota(\"S T; S\"))\n"
      "  return rearrange(\"S D -> L D\", einsum(\"S T, T D -> S D\", s, v))\n}\n"
      "plan p(q k v: f32[L/c D]) -> f32[L/c D] {\n"
      "  z = ring b over L/c as W, o: f32[S/c D] = zeros(f32[S/c D]) {\n"
      "    at = iota(\"S/c W; W\") + b * |W|\n"
      "    s = tanh(einsum(\"S/c D, W D -> S/c W\", q, k[b])) * f32(at <= iota(\"S/c W; S\"))\n"
      "    next o + einsum(\"S/c W, W D -> S/c D\", s, v[b])\n  }\n"
      "  return rearrange(\"S/c D -> L/c D\", z)\n}\n",
      {{{"L", 6}, {"D", 2}}, {{"c", 3}}});
}

TEST(Erasure, a_pipeline_is_two_scans) {
  const std::string model =
      "mesh p\ndim A M N X\n"
      "fn f(x: f32[A M], w: f32[N M], u: f32[M]) -> f32[A] {\n"
      "  per = scan a in A {\n"
      "    y = scan n in N, c: f32[M] = x[a] * u { next tanh(c * w[n]) + c }\n"
      "    emit sum(\"M -> \", y * u)\n  }\n  return per\n}\n";
  expect_equal(model +
                   "plan p(x: f32[A M], w: f32[N/p M], u: f32[M]) -> f32[A]{U_p} {\n"
                   "  per = pipeline a in A over p by one_f_one_b {\n"
                   "    y = stages n in N, c: f32[M] = x[a] * u { next tanh(c * w[n]) + c }\n"
                   "    emit sum(\"M -> \", y * u)\n  }\n  return per\n}\n",
               {{{"A", 3}, {"M", 2}, {"N", 4}}, {{"p", 2}}});
  expect_equal(
      "mesh p\ndim A M N X\n"
      "fn f(x: f32[A M], w: f32[X N M]) -> f32[A M] {\n"
      "  per = scan a in A {\n"
      "    y = scan c in X, q: f32[M] = x[a] {\n"
      "      z = scan n in N, r: f32[M] = q { next sin(r * w[c, n]) + r }\n      next z\n"
      "    }\n    emit y\n  }\n  return per\n}\n"
      "plan p(x: f32[A M], w: f32[X N/p M]) -> f32[A M]{U_p} {\n"
      "  per = pipeline a in A over p by interleaved(C = |X|) {\n"
      "    y = stages c, n in X, N, r: f32[M] = x[a] { next sin(r * w[c, n]) + r }\n"
      "    emit y\n  }\n  return per\n}\n",
      {{{"A", 2}, {"M", 2}, {"N", 2}, {"X", 3}}, {{"p", 2}}});
}

TEST(Erasure, sizes_of_axes_are_numbers) {
  const auto loaded =
      load_text("mesh t=4\nmesh d\nplan p(x: f32[]) -> f32[] { return x * |t| / |d| }\n");
  const auto got = evaluate(loaded->program(), loaded->find("p"), {{}, {{"d", 2}}}, {scalar(3)});
  EXPECT_EQ(got[0].data, (std::vector<double>{6}));
}

TEST(Erasure, a_trusted_plan_is_what_it_claims) {
  const std::string text =
      "mesh t\ndim A\n"
      "fn g(x: f32[A]) -> f32[A] { return x * x }\n"
      "trusted \"a test\" plan k implements g(x: f32[A/t]) -> f32[A/t]\n"
      "trusted \"a test\" plan kb implements grad(g)(x: f32[A/t], y: f32[A/t]) -> f32[A/t]\n"
      "fn f(x: f32[A]) -> f32[A] { return g(x) }\n"
      "plan p(x: f32[A/t]) -> f32[A/t] { return k(x) }\n"
      "plan q(x y: f32[A/t]) -> f32[A/t] { return kb(x, y) }\n";
  expect_equal(text, {{{"A", 4}}, {{"t", 2}}});
  const auto loaded = load_text(text);
  const auto got = evaluate(loaded->program(), loaded->find("q"), {{{"A", 2}}, {{"t", 2}}},
                            {tensor({2}, {3, 5}), tensor({2}, {1, 10})});
  EXPECT_EQ(got[0].data, (std::vector<double>{6, 100}));
}

// The derivative asked of a plan is that of its model.
TEST(Erasure, the_gradient_of_a_plan_is_its_models) {
  const auto loaded = load_text(
      "mesh t\ndim A\n"
      "fn g(x: f32[A]) -> f32[] { return sum(\"A -> \", x * x) }\n"
      "plan k implements g(x: f32[A/t]) -> f32[]{U_t} { return sum(\"A/t -> {U_t}\", x * x) }\n"
      "plan p(x: f32[A/t]) -> (f32[]{U_t}, f32[A/t]) {\n"
      "  l, gx = value_and_grad(k)(x)\n  return l, gx\n}\n");
  const auto got = evaluate(loaded->program(), loaded->find("p"), {{{"A", 2}}, {{"t", 2}}},
                            {tensor({2}, {3, 5})});
  EXPECT_EQ(got[0].data, (std::vector<double>{34}));
  EXPECT_EQ(got[1].data, (std::vector<double>{6, 10}));
}

}  // namespace
}  // namespace shardproof::oracle
