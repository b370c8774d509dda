// Mistakes that people make: the code, and the fix that proves the plan or the words that help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/check/expect_fix.h"
#include "spec/check/shown_indices.h"

namespace shardproof {
namespace mistakes_test {

using testing::Contains;
using testing::HasSubstr;

const std::string head = "mesh d t\ndim B M F V\n";
const std::string product =
    "fn f(x: f32[B F], w: f32[F M]) -> f32[B M] { return einsum(\"B F, F M -> B M\", x, w) }\n"
    "plan p implements f(x: f32[B/d F/t], w: f32[F/t M]) -> f32[B/d M] {\n";

TEST(Mistakes, AResultOfAnotherLayoutIsConverted) {
  const std::string sum = "    o = einsum(\"B/d F/t, F/t M -> B/d M {U_t}\", x, w)\n";
  expect_fix(head + product + sum + "    return o\n}\n", "E0302", "all_reduce first");
  expect_fix(head + product + "    return einsum(\"B/d F/t, F/t M -> B/d M {U_t}\", x, w)\n}\n",
             "E0302", "all_reduce first");
  expect_fix(head + product + sum + "    return psum_scatter(\"B/d M {U_t} -> B/d M/t\", o)\n}\n",
             "E0302", "all_gather first");
}

/// Where a sum over two axes is not reduced, once, and where its value is computed if two lines
/// read it.
TEST(Mistakes, ASumOverTwoAxesIsReducedOnce) {
  const std::vector<Diagnostic> errors = errors_of(R"(
mesh d t
dim B M E
fn f(x y: f32[B M E]) -> f32[E] { return sum("B M E -> E", x) * sum("B M E -> E", y) }
plan p implements f(x y: f32[B/d M/t E]) -> f32[E] {
    a = sum("B/d M/t E -> E {U_d U_t}", x)
    b = sum("B/d M/t E -> E {U_d U_t}", y)
    return all_reduce("E {U_d U_t} -> E", a * b)
}
)");
  ASSERT_EQ(errors.size(), 1u);
  ASSERT_TRUE(errors[0].fixes.at(0).checked);
  EXPECT_EQ(errors[0].fixes[0].edits.at(0).text, "all_reduce(\"E {U_d U_t} -> E\", b)");
  expect_first_fix(R"(
mesh d t
dim B M
fn f(x: f32[B M]) -> (y n: f32[]) {
    n2 = sum("B M -> ", x * x)
    return clip_factor(n2, 1.0), sqrt(n2)
}
plan p implements f(x: f32[B/d M/t]) -> (y n: f32[]) {
    n2 = sum("B/d M/t -> {U_d U_t}", x * x)
    return clip_factor(n2, 1.0), sqrt(n2)
}
)",
                   "E0207", "reduce `n2` where it is computed");
}

TEST(Mistakes, OperandsInAnotherOrder) {
  expect_fix(R"(
mesh d
dim B M
const top = 1.0
fn loss(w: f32[M], x: f32[B M]) -> f32[] { return sum("B M -> ", w * x * x) / |B| }
plan loss_d implements loss(w: f32[M], x: f32[B/d M]) -> f32[]{U_d} {
    y = x * w
    return sum("B/d M -> {U_d}", y * x) / |B|
}
fn step(w m v: f32[M], x: f32[B M], n lr: f32[]) -> (w1 m1 v1: f32[M]) {
    _l, g = value_and_grad(loss wrt w)(w, x)
    w1, m1, v1 = adamw(w, scale_by(g, clip_factor(sumsq(g), top)), m, v, n, lr, 0.1)
    return w1, m1, v1
}
plan p implements step(w m v: f32[M], x: f32[B/d M], n lr: f32[]) -> (w1 m1 v1: f32[M]) {
    _l, gu = value_and_grad(loss_d wrt w)(w, x)
    g = all_reduce("M {U_d} -> M", gu)
    w1, m1, v1 = adamw_kept(w, m, g, v, clip_factor(sumsq(g), top), n, lr, 0.1)
    return w1, m1, v1
}
)",
             "E0401", "give `adamw_kept` its arguments in the order of its parameters");
  expect_fix(R"(
mesh d
dim B M
const top = 1.0
record W { a b: f32[M] }
layout Wd of W { a b: f32[M/d] }
fn loss(w: W, x: f32[B M]) -> f32[] { return sum("B M -> ", w.a * x * w.b) / |B| }
plan loss_d implements loss(w: Wd, x: f32[B/d M]) -> f32[]{U_d} {
    y = x * all_gather("M/d -> M", w.a)
    return sum("B/d M -> {U_d}", y * all_gather("M/d -> M", w.b)) / |B|
}
fn step(w: W, x: f32[B M], lr: f32[]) -> (w1: W) {
    _l, g = value_and_grad(loss wrt w)(w, x)
    n2 = total(each sumsq(g))
    return each sgd(w, each scale_by(g, clip_factor(n2, top)), lr)
}
plan p implements step(w: Wd, x: f32[B/d M], lr: f32[]) -> (w1: Wd) {
    _l, g = value_and_grad(loss_d wrt w)(w, x)
    size = all_reduce("{U_d} -> ", total("{U_d}", each sumsq(g)))
    return each sgd(w, each scale_by(g, clip_factor(top, size)), lr)
}
)",
             "E0401", "compute it as `step` does");
  expect_fix(R"(
mesh d
dim B M
fn f(x y: f32[B M]) -> f32[B M] { return exp(x) * x - exp(x) * y }
plan p implements f(x y: f32[B/d M]) -> f32[B/d M] { 
    return exp(x) * (y - x)
}
)",
             "E0402", "exchange the operands of `-`");
}

TEST(Mistakes, AnAxisTooManyIsLeftOut) {
  const std::string sum = "    o = einsum(\"B/d F/t, F/t M -> B/d M {U_t}\", x, w)\n";
  for (const char* marks : {"{U_d U_t}", "{U_d}"})
    expect_fix(
        head + product + sum + "    return all_reduce(\"B/d M " + marks + " -> B/d M\", o)\n}\n",
        "E0205", "reduce over the unreduced axes only");
}

std::string body(const std::string& text) {
  return head + "fn f(x: f32[B M]) -> f32[B M] {\n    " + text + "\n}\n";
}

TEST(Mistakes, WordsOfOtherLanguages) {
  expect_help(body("return x.max(1)"), "E0002", "`max(\"B M -> B\", x)`");
  expect_help(body("return reshape(x, (2, 3))"), "E0002", "`rearrange`");
  expect_help(body("return x ** 2"), "E0002", "pow(x, y)");
  expect_help(body("x += 1"), "E0002", "assigned once");
  expect_help(body("return sum(x)"), "E0103", "`sum(\"B M -> \", x)`");
  expect_fix(body("return x / len(x)"), "E0101", "the size of a dim: `|B|`");
  expect_help(body("return clip(x, 0, 1)"), "E0101", "minimum(maximum(x, 0), 1)");
  expect_help(body("return x // the input"), "E0002", "a comment begins with `#`");
  expect_help(body("return x[0]"), "E0002", "read(");
  expect_help(body("return softmax(x, dim=-1)"), "E0103", "`softmax(\"B M; M\", x)`");
  expect_help(body("return psum(x)"), "E0101", "as in `all_reduce(");
  expect_help(head + "fn f(x: float32[B M]) -> f32[B M] { return x }\n", "E0101", "the dtypes are");
}

/// What people write who know other languages, and the fix that is right.
TEST(Mistakes, TextOfOtherLanguages) {
  expect_fix(body("return jnp.tanh(x)"), "E0002", "there are no modules: `tanh(x)`");
  expect_fix(body("return jax.nn.gelu(x)"), "E0002", "there are no modules: `gelu(x)`");
  expect_fix(body("return x.tanh()"), "E0002", "there are no methods: `tanh(x)`");
  expect_fix(body("let y = tanh(x)\n    return y"), "E0002", "a value is named by `name = ...`");
  expect_fix(body("assert |B| % 2 == 0\n    return x"), "E0002", "is a `require`");
  expect_fix(body("s = sum(\"B M -> B\", x)\n    return x - s[:, None]"), "E0002",
             "dims are matched by name");
  expect_help(body("return x.reshape(M, B)"), "E0002", "are `rearrange`");
  expect_help(body("return x.to(f32)"), "E0002", "a cast is the dtype's name");
  expect_help(body("dist.all_reduce(x)\n    return x"), "E0002", "no call changes a value");
  expect_help(body("barrier()\n    return x"), "E0002", "there are no barriers");
  expect_help(body("return x if x > 0 else 0"), "E0002", "a choice is `where(c, x, y)`");
  expect_help(body("return x > 0 ? x : 0"), "E0005", "a choice is `where(c, x, y)`");
  expect_help(body("return lax.scan(f, x, x)"), "E0002", "a loop is `scan n in N");
  expect_help(body("x.backward()\n    return x.grad"), "E0002", "a gradient is a result");
  expect_help(body("return with_sharding_constraint(x, x)"), "E0101", "has the layout");
  expect_help(body("g = lambda a: a\n    return g(x)"), "E0002", "a `fn` at the top");
}

TEST(Mistakes, DeclarationsOfOtherLanguages) {
  const std::string rest = "dim B M\nfn f(x: f32[B M]) -> f32[B M] { return x }\n";
  for (const char* mesh : {"mesh (d, t)", "mesh d, t", "mesh = (\"d\", \"t\")", "mesh [d t]"})
    expect_fix(mesh + ("\n" + rest), "E0002", "spaces separate the names: `mesh d t`");
  expect_fix("mesh {d: 8, t: 4}\n" + rest, "E0002", "`mesh d=8 t=4`");
  expect_fix("mesh d\ndim B, M, F\nfn f(x: f32[B M F]) -> f32[B M F] { return x }\n", "E0002",
             "spaces separate the names: `dim B M F`");
  const std::string dims = "mesh d\ndim B M\n";
  expect_fix(dims + "fn f(x: f32[B, M]) -> f32[B, M] { return x }\n", "E0002", "remove `,`");
  expect_fix(dims + "fn f(x: f32(B, M)) -> f32(B, M) { return f32(x) }\n", "E0002", "brackets");
  const std::string fn = dims + "fn f(x: f32[B M]) -> f32[B M] { return x }\n";
  for (const char* word : {" of ", " for ", " implement ", ": "})
    expect_fix(fn + "plan p" + word + "f(x: f32[B/d M]) -> f32[B/d M] { return x }\n", "E0002",
               "a plan `implements` its model");
  const std::string record = dims + "record W { a: f32[M] }\n";
  const std::string plan =
      "{ a: f32[M/d] }\nfn g(w: W) -> f32[M] { return w.a }\n"
      "plan q implements g(w: L) -> f32[M/d] { return w.a }\n";
  for (const char* word : {" for ", ": "})
    expect_fix(record + "layout L" + word + "W " + plan, "E0002", "write `of`");
  expect_fix(record + "fn g(w: W) -> f32[M] { return w[\"a\"] }\n", "E0002",
             "a field stands after a point");
  expect_help(dims + "fn f(x: Tensor[B M]) -> f32[B M] { return x }\n", "E0101",
              "its dtype and its dims");
  expect_help(dims + "fn f(x: f32[B M]) -> f32[B M]:\n    return x\n", "E0002", "in braces");
  expect_help("import torch\n" + rest, "E0002", "the library needs no import");
}

TEST(Mistakes, DimsInAnotherOrder) {
  expect_fix(head + product +
                 "    return all_reduce(\"-> B/d M\", einsum(\"F/t B/d, F/t M -> B/d M {U_t}\", x, "
                 "w))\n}\n",
             "E0305", "in its order, `B/d F/t`");
  const std::string sum = "einsum(\"B/d F/t, F/t M -> M B/d {U_t}\", x, w)";
  const std::string reduced = "    o = all_reduce(\"M B/d {U_t} -> M B/d\", " + sum + ")\n";
  expect_fix(head + product + reduced + "    return o\n}\n", "E0302",
             "put the dims into the order of the type");
  expect_fix(head + product + reduced + "    return rearrange(\"M B/d -> M B/d\", o)\n}\n", "E0302",
             "name the dims of the result in the order of its type");
}

TEST(Mistakes, AnotherCollectiveMakesTheResult) {
  const std::string text =
      head +
      "fn f(x: f32[B M]) -> f32[M] { return sum(\"B M -> M\", x) }\n"
      "plan p implements f(x: f32[B/d M]) -> f32[M/d] {\n"
      "    return all_reduce(\"M {U_d} -> M/d\", sum(\"B/d M -> M {U_d}\", x))\n}\n";
  expect_fix(text, "E0206", "psum_scatter instead of all_reduce");
  expect_first_fix(head +
                       "fn f(x: f32[B M]) -> f32[B M] { return x }\n"
                       "plan p implements f(x: f32[B/d M/t]) -> f32[B/d M] {\n"
                       "    return all_gather(\"B/d M/t -> M B/d\", x)\n}\n",
                   "E0305", "name them in its order, `B/d M`");
}

TEST(Mistakes, AGradientIsNamedWithWhatItIsOf) {
  const std::vector<Diagnostic> errors = errors_of(
      "mesh d\ndim B M\n"
      "fn l(w: f32[M], x: f32[B M]) -> f32[] { return sum(\"B M -> \", tanh(x * w)) }\n"
      "plan lp implements l(w: f32[M], x: f32[B/d M]) -> f32[]{U_d} {\n"
      "    return sum(\"B/d M -> {U_d}\", tanh(x * w))\n}\n"
      "fn s(w: f32[M], x: f32[B M]) -> f32[M] {\n"
      "    _l, g = value_and_grad(l wrt w)(w, x)\n    return w - g\n}\n"
      "plan sp implements s(w: f32[M], x: f32[B/d M]) -> f32[M] {\n"
      "    _l, g = value_and_grad(lp wrt w)(w, x)\n"
      "    return w + all_reduce(\"M {U_d} -> M\", g)\n}\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].label, HasSubstr("grad(l wrt w)(w, x)[M]"));
}

TEST(Mistakes, NamesOfJax) {
  expect_fix(head + product +
                 "    return psum(\"B/d M {U_t} -> B/d M\", einsum(\"B/d F/t, F/t M -> B/d M "
                 "{U_t}\", x, w))\n}\n",
             "E0101", "`psum` is `all_reduce`");
  expect_fix(head + product +
                 "    return all_reduce(\"-> B/d M\", enisum(\"B/d F/t, F/t M -> B/d M {U_t}\", x, "
                 "w))\n}\n",
             "E0101", "did you mean `einsum`?");
}

TEST(Mistakes, MarksOfSeveralOperandsAreSaidAtOnce) {
  const std::string text =
      head +
      "fn f(x: f32[B M], w: f32[M F]) -> f32[B F] { return einsum(\"B M, M F -> B F\", x, w) }\n"
      "plan p implements f(x: f32[B M]{I_d}, w: f32[M F/t]{I_d}) -> f32[B F/t]{I_d} {\n"
      "    return einsum(\"B M, M F/t -> B F/t\", x, w)\n}\n";
  expect_first_fix(text, "E0306", "state this in the pattern and in its result");
}

TEST(Mistakes, AScalarBesideACopyThatIsUsedAlike) {
  expect_fix(head +
                 "fn f(x: f32[M], e: f32[]) -> f32[M] { return x * e }\n"
                 "plan p implements f(x: f32[M]{I_t}, e: f32[]) -> f32[M]{I_t} { return x * e }\n",
             "E0203", "give `e` the type `f32[]{I_t}`");
}

TEST(Mistakes, AMarkNamesItsAxis) {
  for (const char* mark : {"{U}", "{t}"})
    expect_help(head + "fn f(x: f32[B M]) -> f32[B] { return sum(\"B M -> B\", x) }\n" +
                    "plan p implements f(x: f32[B M/t]) -> f32[B]" + mark +
                    " { return sum(\"B M/t -> B {U_t}\", x) }\n",
                "E0002", "a mark has its axis in its name");
}

TEST(Mistakes, AConditionTurnedRound) {
  const auto masked = [](const std::string& condition) {
    return "fn f(x: f32[S T]) -> f32[S T] { return where(iota(\"S T; T\") <= iota(\"S T; S\"), x, "
           "0) "
           "}\nplan p implements f(x: f32[S/d T]) -> f32[S/d T] { return where(" +
           condition + ", x, 0) }\n";
  };
  const std::string dims = "mesh d\ndim S\ndim T = S\n";
  const std::vector<Diagnostic> errors =
      errors_of(dims + masked("iota(\"S/d T; T\") < iota(\"S/d T; S\")"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].label, HasSubstr("condition [T < S] instead of [T <= S]"));
}

/// A normal form has `x <= y` alone; the text may say `y < x`.
TEST(Mistakes, AConditionIsShownAsItIsWritten) {
  const auto label = [](const std::string& model, const std::string& plan) {
    const std::vector<Diagnostic> errors = errors_of(
        head + "fn f(x y: i32[B]) -> f32[B] { return f32(" + model +
        ") }\nplan p implements f(x y: i32[B/d]) -> f32[B/d] { return f32(" + plan + ") }\n");
    return errors.size() == 1 ? errors[0].label : "";
  };
  EXPECT_EQ(label("x < y", "x > y"), "condition [y[B] < x[B]] instead of [x[B] < y[B]]");
  EXPECT_EQ(label("x < y", "x <= y"), "condition [x[B] <= y[B]] instead of [x[B] < y[B]]");
  EXPECT_EQ(label("x <= y", "y <= x"), "condition [y[B] <= x[B]] instead of [x[B] <= y[B]]");
  EXPECT_EQ(label("x < y", "x < y + 1"),
            "condition [x[B] <= y[B]] (or [y[B] < x[B]]) instead of [x[B] < y[B]]");
}

TEST(Mistakes, AScanInTheOtherDirectionIsSaidSo) {
  const auto scan = [](const std::string& type, const std::string& way) {
    return "(x: f32[V " + type + "], a: f32[]) -> f32[" + type + "] {\n    h = scan v in V" + way +
           ", h0: f32[" + type + "] = zeros(f32[" + type + "]) { next tanh(a * h0 + x[v]) }\n" +
           "    return h\n}\n";
  };
  const std::vector<Diagnostic> errors =
      errors_of(head + "fn f" + scan("B", "") + "plan p implements f" + scan("B/d", " reverse"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].label, "the scan over V runs in reverse, that of the model does not");
}

/// The second `W` of a file is `W.2` inside.
TEST(Mistakes, ABlockHasTheNameThatTheFileGivesIt) {
  const std::string ring =
      "(x: f32[V/d M], w: f32[M F/d]) -> f32[V F/d] {\n    y = ring b over V/d as W {\n"
      "        emit einsum(\"W M, M F/d -> W F/d\", x[b], w)";
  const std::vector<Diagnostic> errors = errors_of(
      head +
      "fn f(x: f32[V M], w: f32[M F]) -> f32[V F] { return einsum(\"V M, M F -> V F\", x, w) }\n" +
      "plan p implements f" + ring + "\n    }\n    return y\n}\nplan q implements f" + ring +
      " + x\n    }\n    return y\n}\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].message, HasSubstr("`W F` and `V M`"));
  EXPECT_THAT(errors[0].types, Contains("f32[W F]"));
}

TEST(Mistakes, APlanThatRestsOnAnotherIsToldWhatComesFirst) {
  const std::vector<Diagnostic> errors =
      errors_of(head +
                "fn f(x: f32[B]) -> f32[B] { return x }\n"
                "plan p implements f(x: f32[B/d]) -> f32[B/d] { return x + none }\n"
                "plan q implements f(x: f32[B/d]) -> f32[B/d] { return p(x) }\n");
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[1].code, "U0005");
  ASSERT_EQ(errors[1].fixes.size(), 1u);
  EXPECT_THAT(errors[1].fixes[0].message, HasSubstr("prove `p` first"));
}

TEST(Mistakes, AMarkOnAnAxisThatSplitsADim) {
  const std::vector<Diagnostic> errors = errors_of(
      head + "plan p(x: f32[B/d M]) -> f32[B/d] { return sum(\"B/d M {U_d} -> B/d\", x) }\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].label, HasSubstr("d splits a dim here"));
}

TEST(Mistakes, ALargeNumberIsNoMask) {
  const std::string models = head +
                             "fn f(x: f32[B M], y: bool[B M]) -> f32[B M] { return softmax(\"B M; "
                             "M\", where(y, x, -1e30)) }\n"
                             "plan p implements f(x: f32[B/d M], y: bool[B/d M]) -> f32[B/d M] {\n";
  const std::vector<Diagnostic> errors = errors_of(
      models + "    e = where(y, exp(x), 0.0)\n    return e / sum(\"B/d M -> B/d\", e)\n}\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].details, Contains(HasSubstr("its exp is not 0")));
  const std::vector<Diagnostic> others =
      errors_of(models + "    return softmax(\"B/d M; M\", where(y, x, -2e30))\n}\n");
  ASSERT_EQ(others.size(), 1u);
  EXPECT_THAT(others[0].details, testing::Not(Contains(HasSubstr("its exp is not 0"))));
}

TEST(Mistakes, TwoBoundIndicesNeverPrintAlike) {
  const std::vector<Diagnostic> errors = errors_of(
      "mesh d\ndim L D\ndim S = L\nfn f(q: f32[L D], k v: f32[S D]) -> f32[L D] {\n"
      "    s = einsum(\"L D, S D -> L S\", q, k)\n"
      "    return einsum(\"L S, S D -> L D\", softmax(\"L S; S\", s), v)\n}\n"
      "plan p implements f(q: f32[L/d D], k v: f32[S D]) -> f32[L/d D] {\n"
      "    s = einsum(\"L/d D, S D -> L/d S\", q, k)\n"
      "    return einsum(\"L/d S, S D -> L/d D\", s, v)\n}\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].label, HasSubstr("k[L', D']"));
}

TEST(Mistakes, ALossOnAnAxisThatItDoesNotUse) {
  const std::string text =
      head +
      "fn l(w: f32[M], x: f32[B M]) -> f32[] { return sum(\"B M -> \", x * w) }\n"
      "fn s(w: f32[M], x: f32[B M]) -> f32[M] {\n    _l, g = value_and_grad(l wrt w)(w, x)\n"
      "    return g\n}\n"
      "plan lp implements l(w: f32[M], x: f32[B/d M]) -> f32[]{U_d} {\n"
      "    return sum(\"B/d M -> {U_d}\", x * w)\n}\n"
      "plan sp implements s(w: f32[M], x: f32[B/d M]) -> f32[M]{U_d U_t} {\n"
      "    _l, g = value_and_grad(lp wrt w)(w, x)\n    return g\n}\n";
  expect_help(text, "E0218", "count the loss once: `lp` returns f32[]{U_d U_t}");
}

/// What an iota holds is its index, not any number.
TEST(Mistakes, ACounterexampleHoldsTheNumbersOfAnIota) {
  const std::vector<Diagnostic> errors =
      errors_of(head +
                "fn f(x: f32[B]) -> f32[B] { return x * (1 + f32(iota(\"B\"))) }\n"
                "plan p implements f(x: f32[B/d]) -> f32[B/d] { return x * f32(iota(\"B/t\")) }\n");
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0].code, "E0204");
  ASSERT_TRUE(errors[0].counterexample.has_value());
  const std::vector<std::string>& lines = errors[0].counterexample->lines;
  EXPECT_THAT(lines, Contains(HasSubstr("device t=0 holds 0, t=1 holds 1: the value is [0, 1]")));
}

/// "Copies" are said of copies alone.
TEST(Mistakes, APartOfAnotherShapeIsSaidSo) {
  const std::vector<Diagnostic> errors = errors_of(
      "mesh a b\ndim K D\ndim H = (K D)\n"
      "fn f(x: f32[H]) -> f32[K D] { return rearrange(\"(K D) -> K D\", x) }\n"
      "plan p implements f(x: f32[H/a/b]) -> f32[K/a D/b] {\n"
      "    return rearrange(\"(K D)/a/b -> K/a D/b\", x)\n}\n");
  ASSERT_FALSE(errors.empty());
  ASSERT_TRUE(errors[0].counterexample.has_value());
  const std::vector<std::string>& lines = errors[0].counterexample->lines;
  EXPECT_THAT(lines, Contains(HasSubstr("each device holds 1 x 2 entries, not 2 x 1")));
  EXPECT_THAT(lines, testing::Not(Contains(HasSubstr("copies"))));
}

TEST(Mistakes, AMaximumOverTwoAxesIsReducedOnce) {
  const std::vector<Diagnostic> errors = errors_of(
      head +
      "fn f(x: f32[M]) -> f32[] { return max(\"M -> \", x) }\n"
      "plan p implements f(x: f32[M/d/t]) -> f32[] {\n"
      "    return all_reduce(\"{Max_d Max_t} ->\", max(\"M/d/t -> {Max_d Max_t}\", x) + 0)\n}\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message, "`+` of a value that is the maximum over d, t");
  ASSERT_FALSE(errors[0].fixes.empty());
  EXPECT_EQ(errors[0].fixes[0].message, "reduce before `+`, then remove the all_reduce");
  EXPECT_TRUE(errors[0].fixes[0].checked);
}

/// `iota` and `scan` of the normal form are no names of the file.
TEST(Mistakes, RemaindersAndScansAreShownInTheNamesOfTheFile) {
  const std::vector<Diagnostic> errors =
      errors_of(head +
                "fn f(y: i32[B]) -> i32[B] { return y }\n"
                "plan p implements f(y: i32[B/d]) -> i32[B/d] { return y % 7 }\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].label, "extra term -7*floor(y[B] / 7)");
  const auto scan = [](const std::string& type, const std::string& result) {
    return "(x: f32[V " + type + "]) -> f32[" + type + "] {\n    h = scan v in V, h: f32[" + type +
           "] = zeros(f32[" + type + "]) { next tanh(h + x[v]) }\n    return " + result + "\n}\n";
  };
  Sources sources;
  const std::string text =
      head + "fn f" + scan("B", "h / h") + "plan p implements f" + scan("B/d", "(h + h) / (2 * h)");
  const FileReader reader = [&](const std::string& path) {
    return path == "a.shard" ? std::optional(text) : std::nullopt;
  };
  const CheckedProgram checked = check(sources, "a.shard", reader);
  ASSERT_EQ(checked.plans().size(), 1u);
  EXPECT_THAT(checked.plans()[0].assumptions, Contains("2*h[B] != 0"));
}

/// sin(2s) = 2 sin(s) cos(s) is not known, so what is emitted seems to depend on the order.
TEST(Mistakes, WhatARingEmitsHasANameOrNone) {
  const auto told = [](const std::string& end) {
    const std::vector<Diagnostic> errors = errors_of(
        head +
        "fn f(x: f32[V M], w: f32[M F]) -> f32[V F] { return einsum(\"V M, M F -> V F\", x, w) }\n"
        "plan p implements f(x: f32[V/d M], w: f32[M F/d]) -> f32[V F/d] {\n"
        "    _s, y = ring b over V/d as W, s: f32[F/d] = zeros(f32[F/d]) {\n"
        "        z = einsum(\"W M, M F/d -> W F/d\", x[b], w)\n"
        "        r = expand(\"F/d -> W F/d\", s)\n" +
        end + "    }\n    return y\n}\n");
    return errors.empty() ? "" : errors[0].message;
  };
  const std::string value = "z + (sin(r + r) - 2 * sin(r) * cos(r))\n";
  const std::string next = "        next s + sum(\"W F/d -> F/d\", z) emit ";
  EXPECT_THAT(told(next + value), HasSubstr("what it emits is not shown"));
  EXPECT_THAT(told("        e = " + value + next + "e\n"),
              HasSubstr("what it emits, `e`, is not shown"));
}

TEST(Mistakes, AConditionOfRealsIsShownAsItIsWritten) {
  const auto label = [](const std::string& model, const std::string& plan) {
    const std::vector<Diagnostic> errors = errors_of(
        head + "fn f(x: f32[B]) -> f32[B] { return where(" + model + ", x, 0.0) }\n" +
        "plan p implements f(x: f32[B/d]) -> f32[B/d] { return where(" + plan + ", x, 0.0) }\n");
    return errors.size() == 1 ? errors[0].label : "";
  };
  EXPECT_EQ(label("x > 0", "x > 1"), "condition [1 < x[B]] instead of [0 < x[B]]");
}

/// Both operands of `s * s` hold the same.
TEST(Mistakes, ASquareHasOneOperand) {
  const std::vector<Diagnostic> errors =
      errors_of(head +
                "fn f(x: f32[B]) -> f32[] {\n    s = sum(\"B -> \", x)\n    return s * s\n}\n"
                "plan p implements f(x: f32[B/d]) -> f32[] {\n    s = sum(\"B/d -> {U_d}\", x)\n"
                "    return all_reduce(\"{U_d} -> \", s * s)\n}\n");
  ASSERT_EQ(errors.size(), 1u);
  ASSERT_TRUE(errors[0].counterexample.has_value());
  const std::vector<std::string>& lines = errors[0].counterexample->lines;
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("s: device d=0 holds"));
}

TEST(Mistakes, AGradientOfALossIsValueAndGrad) {
  expect_help(head +
                  "fn l(x: f32[B]) -> f32[] { return sum(\"B -> \", x * x) }\n"
                  "fn s(x: f32[B]) -> f32[B] { return grad(l wrt x)(x) }\n",
              "E0103", "a loss needs none: `_l, g = value_and_grad(");
}

const std::string fields =
    "record W { a: f32[M F] b: f32[M] }\nlayout Wt of W { a: f32[M F/t] b: f32[M/t] }\n";

TEST(Mistakes, AResultWithItsAxesInAnotherOrderIsGatheredAndCut) {
  const std::string model = "fn f(x: f32[B M]) -> f32[B M] { return x }\n";
  for (const char* types : {"(x: f32[B M/d/t]) -> f32[B M/t/d]", "(x: f32[B M/d]) -> f32[B M/t]"})
    expect_fix(head + model + "plan p implements f" + types + " { return x }\n", "E0302",
               "all_gather, then slice");
}

TEST(Mistakes, AnAxisThatSplitsTwoIndicesIsGatheredInOneOperand) {
  expect_first_fix(head +
                       "fn f(x: f32[B M], w: f32[M F]) -> f32[B F] "
                       "{ return einsum(\"B M, M F -> B F\", x, w) }\n"
                       "plan p implements f(x: f32[B/d M], w: f32[M F/d]) -> f32[B/d F] "
                       "{ return einsum(\"B/d M, M F/d -> B/d F/d\", x, w) }\n",
                   "E0209", "gather over d before einsum");
  expect_help(head +
                  "fn f(x: f32[B M]) -> f32[B M] { return x }\n"
                  "plan p implements f(x: f32[B/d M/d]) -> f32[B M] { return x }\n",
              "E0110", "write `B/d M` or `B M/d`");
}

TEST(Mistakes, ACollectiveThatLeavesASumIsReplaced) {
  for (const char* other : {"all_gather", "psum_scatter"})
    expect_fix(head + product + "    o = einsum(\"B/d F/t, F/t M -> B/d M {U_t}\", x, w)\n" +
                   "    return " + other + "(\"B/d M {U_t} -> B/d M\", o)\n}\n",
               "E0214", "all_reduce instead of " + std::string(other));
}

TEST(Mistakes, ARecordIsReducedFieldByField) {
  expect_fix(head +
                 "record W { a: f32[M F] b: f32[M] }\nlayout Wt of W { a: f32[M F/t] b: f32[M] }\n"
                 "fn f(x: f32[B M], y: f32[B F]) -> W {\n"
                 "    return W(a = einsum(\"B M, B F -> M F\", x, y), b = sum(\"B M -> M\", x)"
                 " * sum(\"F -> \", sum(\"B F -> F\", y)))\n}\n"
                 "plan p implements f(x: f32[B/d M], y: f32[B/d F/t]) -> Wt {\n"
                 "    m = all_reduce(\"M {U_d} -> M\", sum(\"B/d M -> M {U_d}\", x))\n"
                 "    n = sum(\"F/t {U_d} -> {U_d U_t}\", sum(\"B/d F/t -> F/t {U_d}\", y))\n"
                 "    return all_reduce(\"Wt{U_d} -> Wt\", "
                 "Wt(a = einsum(\"B/d M, B/d F/t -> M F/t {U_d}\", x, y), b = m * n))\n}\n",
             "E0306", "`-> Wt`");
}

TEST(Mistakes, AnotherFieldThatFitsIsFound) {
  const auto of = [](const std::string& first, const std::string& second) {
    return "mesh d\ndim N B M\nrecord Layer {\n    gain: f32[M]\n    shift: f32[M]\n}\nrecord "
           "Model {\n"
           "    layers: Layer[N]\n    last: f32[M]\n}\n"
           "fn g(x: f32[B M], w: f32[M]) -> f32[B M] { return x * w }\n"
           "plan gp implements g(x: f32[B/d M], w: f32[M]) -> f32[B/d M] { return x * w }\n"
           "fn h(x: f32[B M], w: Layer) -> f32[B M] { return x * w.gain + w.shift }\n"
           "plan hp implements h(x: f32[B/d M], w: Layer) -> f32[B/d M] { return x * w." +
           first +
           " + w.shift }\nfn f(x: f32[B M], w: Model) -> f32[B M] { return g(x, w.last) }\n"
           "plan p implements f(x: f32[B/d M], w: Model) -> f32[B/d M] { return gp(x, w." +
           second + ") }\n";
  };
  expect_fix(of("scale", "last"), "E0101", "the field `gain` fits here");
  expect_fix(of("gain", "layers"), "E0303", "did you mean `w.last`?");
}

TEST(Mistakes, AllFieldsOfAnotherTypeAreTold) {
  const std::vector<Diagnostic> errors =
      errors_of(head + fields +
                "fn f(x: f32[M F], y: f32[M]) -> W { return W(a = x, b = y) }\n"
                "plan p implements f(x: f32[M F], y: f32[M]) -> Wt { return Wt(a = x, b = y) }\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].message, HasSubstr("result `a` of p"));
  EXPECT_THAT(errors[0].details, Contains(HasSubstr("also: result `b` of p is `f32[M/t]`")));
}

TEST(Mistakes, AStackOfRecordsIsEmitted) {
  expect_help(head + fields +
                  "fn f(x: f32[V M F], y: f32[V M]) -> f32[V M F] {\n    r = W[V](a = x, b = y)\n"
                  "    return r.a\n}\n",
              "E0002", "scan n in V { emit W(w = w[n]) }");
}

TEST(Mistakes, AnotherNameOfADimIsTold) {
  const std::string text =
      "mesh d\ndim B L\ndim S = L\nfn f(x: f32[B L], y: f32[B S]) -> f32[B L] "
      "{ return x + y }\n";
  expect_help(text, "E0305", "`rearrange(\"B S -> B L\", y)`");
  EXPECT_THAT(errors_of(text).at(0).details, Contains(HasSubstr("`S` is another name of `L`")));
}

TEST(Mistakes, IndicesAreCountedFromTheFirst) {
  std::vector<Diagnostic> diagnostics(1);
  diagnostics[0].message = "a[F'2, B'] is not a[F'5]";
  diagnostics[0].details = {"the plan's F'2, and x'"};
  number_indices(diagnostics);
  EXPECT_EQ(diagnostics[0].message, "a[F', B'] is not a[F'2]");
  EXPECT_EQ(diagnostics[0].details[0], "the plan's F', and x'");
}

const std::string sum_of_squares =
    "fn l(x: f32[B]) -> f32[] { return sum(\"B -> \", x * x) }\n"
    "plan q implements l(x: f32[B/d]) -> f32[]{U_d} { return sum(\"B/d -> {U_d}\", x * x) }\n"
    "fn s(x: f32[B]) -> f32[B] {\n    _l, g = value_and_grad(l wrt x)(x)\n    return g\n}\n";

TEST(Mistakes, WordsOfOtherLanguagesBeginADeclaration) {
  const std::string ours = head +
                           "fn f(x: f32[B]) -> f32[B] { return x }\n"
                           "record R { a: f32[B] }\n";
  for (const auto& [word, other] : {std::pair{"dim ", "dims "},
                                    {"fn ", "function "},
                                    {"record ", "class "},
                                    {"mesh ", "axes "}}) {
    std::string text = ours;
    text.replace(text.find(word), std::string(word).size(), other);
    const std::vector<Diagnostic> errors = errors_of(text);
    ASSERT_FALSE(errors.empty()) << text;
    ASSERT_EQ(errors[0].fixes.size(), 1u) << text;
    EXPECT_EQ(errors[0].fixes[0].edits.at(0).text + " ", word);
  }
  expect_help(head + "fn f(x: f32[B]) -> f32[B] {\n    /* none */\n    return x\n}\n", "E0002",
              "a comment begins with `#`");
  expect_help(head + "fn f(x: f32[B]) -> f32[B] { return tanh(jnp.exp(x)) }\n", "E0002",
              "there are no modules");
}

TEST(Mistakes, NumbersAreAboutTheAxisOfTheMessage) {
  for (const char* pattern : {"B M {U_d U_t} -> B M", "B/d M {U_d U_t} -> B/d M"}) {
    const std::vector<Diagnostic> errors =
        errors_of(head + "fn f(x: f32[B M]) -> f32[B M] { return x }\n" +
                  "plan p implements f(x: f32[B/d M]) -> f32[B M] { return all_reduce(\"" +
                  pattern + "\", x) }\n");
    ASSERT_FALSE(errors.empty());
    EXPECT_EQ(errors[0].message, "all_reduce over d of a value that is split over d");
    ASSERT_TRUE(errors[0].counterexample);
    EXPECT_THAT(errors[0].counterexample->mesh, HasSubstr("d=2"));
  }
}

TEST(Mistakes, AStringInSingleQuotesIsOneError) {
  expect_fix(head + product +
                 "    return all_reduce('B/d M {U_t} -> B/d M', "
                 "einsum(\"B/d F/t, F/t M -> B/d M {U_t}\", x, w))\n}\n",
             "E0005", "double quotes");
}

TEST(Mistakes, AQuoteThatIsMissingIsInserted) {
  const std::string head =
      "mesh d t\ndim B M F\nfn f(x: f32[B M], w: f32[M F]) -> f32[B F] { return einsum(\"B M, M F "
      "-> "
      "B F\", x, w) }\nplan p implements f(x: f32[B/d M/t], w: f32[M/t F]) -> f32[B/d F] {\n    ";
  const std::string h = "h = einsum(\"B/d M/t, M/t F -> B/d F {U_t}\", x, w)\n    ",
                    sum = "return all_reduce(\"B/d F {U_t} -> B/d F\", h)\n}\n";
  const auto without = [&](std::string text, const std::string& part, const std::string& left) {
    text.replace(text.find(part), part.size(), left);
    const std::vector<Diagnostic> errors = errors_of(head + text);
    const auto told = std::find_if(errors.begin(), errors.end(),
                                   [](const Diagnostic& each) { return each.code == "E0004"; });
    ASSERT_NE(told, errors.end()) << text;
    EXPECT_EQ(told->fixes.at(0).message, "insert `\"`") << text;
    EXPECT_TRUE(told->fixes[0].checked) << text;
  };
  without(h + sum, "{U_t}\", x", "{U_t}, x");
  without(h + sum, "B/d F\", h)", "B/d F, h)");
  without(h + sum, "(\"B/d F {U_t}", "(B/d F {U_t}");
}

TEST(Mistakes, TheLastValueIsReturned) {
  expect_fix(head + product +
                 "    y = einsum(\"B/d F/t, F/t M -> B/d M {U_t}\", x, w)\n"
                 "    all_reduce(\"B/d M {U_t} -> B/d M\", y)\n}\n",
             "E0002", "return the value");
}

TEST(Mistakes, LettersOfAPatternAreSeparatedInOneEdit) {
  expect_fix(head + product +
                 "    return all_reduce(\"B/d M {U_t} -> B/d M\", "
                 "einsum(\"B/d F/t, F/t M -> B/d M {U_t}\", x, w))\n}\n"
                 "fn g(x: f32[B M], w: f32[M F]) -> f32[B F] "
                 "{ return einsum(\"bm,mf->bf\", x, w) }\n",
             "E0101", "`B M`, `M F`, `B F`");
}

TEST(Mistakes, TheAxesOfTheMeshAreNamed) {
  expect_help(head +
                  "fn f(x: f32[B]) -> f32[B] { return x }\n"
                  "plan p implements f(x: f32[B/z]) -> f32[B/z] { return x }\n",
              "E0101", "`d`, `t`");
}

TEST(Mistakes, AStepDifferentiatesThePlanOfTheLoss) {
  const auto step = [](const char* bind) {
    return "mesh d\ndim B\n" + sum_of_squares +
           "plan t implements s(x: f32[B/d]) -> f32[B/d] {\n    " + bind + "(x)\n    return g\n}\n";
  };
  expect_fix(step("_l, g = value_and_grad(l wrt x)"), "E0109", "`q` is the plan of `l`");
  expect_fix(step("g = value_and_grad(q wrt x)"), "E0103", "the value comes before the gradients");
}

TEST(Mistakes, ARecordIsReducedByALayoutAndNotByATensorsPattern) {
  const std::string body = "{ return sum(\"B -> \", x * (sum(\"M -> \", w.a) + w.b)) }\n";
  expect_fix(
      "mesh d\ndim B M\nrecord W { a: f32[M] b: f32[] }\n"
      "layout S of W { a: f32[M] b: f32[] }\n"
      "fn l(w: W, x: f32[B]) -> f32[] " +
          body +
          "plan q implements l(w: S, x: f32[B/d]) -> f32[]{U_d} "
          "{ return sum(\"B/d -> {U_d}\", x * (sum(\"M -> \", w.a) + w.b)) }\n"
          "fn s(w: W, x: f32[B]) -> W "
          "{\n    _l, g = value_and_grad(l wrt w)(w, x)\n    return g\n}\n"
          "plan t implements s(w: S, x: f32[B/d]) -> S {\n"
          "    _l, g = value_and_grad(q wrt w)(w, x)\n"
          "    return all_reduce(\"M {U_d} -> M\", g)\n}\n",
      "E0305", "each field as in `S`");
}

TEST(Mistakes, OneNumberHasNoFactor) {
  const auto loss = [](const char* plan) {
    return head +
           "fn f(x: f32[B], y: f32[B]) -> f32[] {\n    e = x - y\n"
           "    return sum(\"B -> \", e * e)\n}\n"
           "plan p implements f(x: f32[B/d], y: f32[B/d]) -> f32[]{U_d} {\n" +
           plan + "}\n";
  };
  const std::vector<Diagnostic> sign =
      errors_of(loss("    e = x + y\n    return sum(\"B/d -> {U_d}\", e * e)\n"));
  ASSERT_EQ(sign.size(), 1u);
  EXPECT_EQ(sign[0].code, "E0401");
  EXPECT_THAT(sign[0].details, testing::Each(testing::Not(HasSubstr("times the model"))));
  const std::vector<Diagnostic> twice =
      errors_of(loss("    e = x - y\n    return 2 * sum(\"B/d -> {U_d}\", e * e)\n"));
  ASSERT_EQ(twice.size(), 1u);
  EXPECT_EQ(twice[0].code, "E0402");
}

TEST(Mistakes, TanhIsShownAsTanh) {
  const std::vector<Diagnostic> errors =
      errors_of(head +
                "fn f(x: f32[B], y: f32[B]) -> f32[B] { return tanh(x + y) }\n"
                "plan p implements f(x: f32[B/d], y: f32[B/d]) -> f32[B/d] "
                "{ return tanh(x) }\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].label, "inside tanh: missing term y[B]");
}

TEST(Mistakes, TooManyConditionsAreReportedOnce) {
  const std::pair<const char*, const char*> rows[] = {
      {"    assume x < |B| + ", "a parameter has at most 16 assumes"},
      {"    require |B| > ", "a body has at most 1,000 requires"}};
  for (const auto& [line, message] : rows) {
    std::string text = "mesh d\ndim B\nfn f(x: i32[B]) -> i32[B] {\n";
    for (int i = 0; i < 1002; ++i) text += line + std::to_string(i) + "\n";
    const std::vector<Diagnostic> errors = errors_of(text + "    return x\n}\n");
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].code, "E0007");
    EXPECT_EQ(errors[0].message, message);
  }
}

TEST(Mistakes, AFixOfAPlanWithBothCopiesIsOneOfBoth) {
  const std::vector<Diagnostic> errors =
      errors_of(head +
                "fn f(x: f32[B M], w: f32[M F]) -> f32[B F] "
                "{ return einsum(\"B M, M F -> B F\", x, w) }\n"
                "plan p implements f(x: f32[B/d M]{?_t}, w: f32[M F]{?_t}) -> f32[B/d F]{?_t} "
                "{ return einsum(\"B/d M, M F -> B/d F\", x, w) }\n");
  ASSERT_FALSE(errors.empty());
  ASSERT_FALSE(errors[0].fixes.empty());
  const Fix& fix = errors[0].fixes[0];
  EXPECT_TRUE(fix.checked);
  ASSERT_EQ(fix.edits.size(), 1u);
  EXPECT_THAT(fix.edits[0].text, HasSubstr("M F {?_t} -> B/d F {?_t}"));
}

TEST(Mistakes, AModelThatIsNotReadIsNotCalledAbsent) {
  const std::string text = head + "plan p implements f(x: f32[B/d M]) -> f32[B/d M] { return x }\n";
  Sources sources;
  const CheckedProgram checked =
      check(sources, "a.shard", [&](const std::string&) { return std::optional(text); });
  ASSERT_EQ(checked.plans().size(), 1u);
  EXPECT_EQ(checked.plans()[0].claim, "");
}

}  // namespace mistakes_test
}  // namespace shardproof
