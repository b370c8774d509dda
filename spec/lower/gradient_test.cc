// Hand-written backwards against the derivative of their models: those that are right, and each of
// them with one mistake.
#include <gtest/gtest.h>

#include "spec/lower/lower.h"
#include "spec/resolve/resolve.h"

namespace shardproof::lower {
namespace {

Resolved read(const std::string& path, const FileReader& reader) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  Resolved r = resolve(sources, path, reader, diagnostics);
  for (const Diagnostic& d : diagnostics) ADD_FAILURE() << path << ": " << d.message;
  return r;
}

std::string why(const Comparison& c) {
  return c.unsupported.value_or("") + (c.difference ? c.difference->text : "") + "\n" + c.residue +
         (c.budget_ended ? "\nthe budget ended" : "");
}

Comparison compare_plan(const Resolved& r, size_t plan, const Options& options) {
  return compare_functions(r.program, plan, r.program.functions.at(plan).model.value(), options);
}

/// Every claim of a file of spec/models that needs a gradient.
void check_models(const std::string& file) {
  const std::string path = std::string(SHARDPROOF_SOURCE_DIR) + "/spec/models/" + file;
  const Resolved r = read(path, disk_reader());
  for (size_t plan : r.plans) {
    const ir::Function& f = r.program.functions[plan];
    if (!f.implements_grad && !f.uses_gradients) continue;
    for (bool use_models : {true, false}) {
      const std::vector<bool> proved(r.program.functions.size(), true);
      const Comparison c = compare_plan(r, plan, {{}, use_models, &proved});
      EXPECT_TRUE(c.equal) << f.name << " result " << c.result << ": " << why(c);
      EXPECT_EQ(c.limit, 1) << f.name;
    }
  }
}

TEST(Gradient, PairwiseFeedForward) { check_models("pairwise_ffn.shard"); }
TEST(Gradient, LlamaLayerAndStack) { check_models("llama_backward.shard"); }
TEST(Gradient, LlamaStep) { check_models("llama_train.shard"); }
TEST(Gradient, DataParallelSteps) { check_models("data_parallel.shard"); }

/// A model, its gradient with respect to x with a gap, what belongs there, and what does not.
struct Written {
  const char* parameters;
  const char* result;
  const char* model;
  const char* gradient;
  const char* right;
  const char* wrong;
};

Comparison compare_text(const Written& w, const std::string& gap) {
  std::string text = "dim B L M V N K D\ndim kv = 2\ndim S T = L\ndim P = 2*|L|\ndim H = (K D)\n";
  text += "fn f(" + std::string(w.parameters) + ") -> f32[" + w.result + "] {" + w.model + "}\n";
  std::string x = w.parameters;
  x = x.substr(x.find(':') + 1, x.find(']') - x.find(':'));
  std::string body = w.gradient;
  while (body.find('$') != std::string::npos) body.replace(body.find('$'), 1, gap);
  text += "plan b implements grad(f wrt x)(" + std::string(w.parameters) + ", g: f32[" + w.result +
          "]) -> (g_x:" + x + ") {" + body + "}\n";
  const Resolved r = read("text.shard", [&](const std::string&) { return std::optional(text); });
  return r.plans.empty() ? Comparison{} : compare_plan(r, r.plans[0], {});
}

const std::vector<Written>& written() {
  static const std::vector<Written> all = {
      {"x y: f32[B L]", "B L", "return x * y - x / y", "return g * y $ g / y", "-", "+"},
      {"x: f32[L], y: f32[B L]", "B L", "return y / x",
       "return sum(\"B L -> L\", $g * y) / (x * x)", "-", ""},
      {"x: f32[B L]", "B L", "return exp(-x) + log(x * x + 1)",
       "return g * (2 * x / (x * x + 1) $ exp(-x))", "-", "+"},
      {"x: f32[B L]", "B L", "return sqrt(x) * rsqrt(1 + x * x)",
       "r = rsqrt(1 + x * x)\n return g * (0.5 / sqrt(x) * r $ sqrt(x) * x * r * r * r)", "-", "+"},
      {"x: f32[B L]", "B L", "return tanh(x) + sin(x) * cos(2 * x)",
       "return g * (1 - tanh(x) * tanh(x) + cos(x) * cos(2 * x) - $ * sin(x) * sin(2 * x))", "2",
       "1"},
      {"x: f32[B L]", "B L", "return erf(3 * x)",
       "return g * ($ * 1.1283791670955126 * exp(-9 * x * x))", "3", "1"},
      {"x: f32[B L]", "B L", "return x * abs(x)",
       "return g * abs(x) + where(x > 0, g * x, where(x < 0, $g * x, 0))", "-", ""},
      {"x y: f32[B L]", "B L", "return maximum(x, y) + minimum(2 * x, y)",
       "return where(x > y, g, 0) + where(2 * x < y, $, 0)", "2 * g", "g"},
      {"x y: f32[B L]", "B L", "return pow(x * x + 1, y)",
       "return g * y * pow(x * x + 1, y $ 1) * 2 * x", "-", "+"},
      {"x y: f32[B L], c: bool[L]", "B L", "return where(c, x, y) * x",
       "return g * ($ + where(c, x, y))", "where(c, x, 0)", "x"},
      {"x: f32[B L]", "B L", "return f32(bf16(stop_grad(x) * save(x)))", "return g * x$", "",
       " * 2"},
      {"x: f32[B L M]", "B S T", "return einsum(\"B S M, B T M -> B S T\", x, x)",
       "a = einsum(\"B S T, B T M -> B S M\", g, x)\n"
       "b = einsum(\"B S T, B S M -> B T M\", g, x)\n"
       "return rearrange(\"B S M -> B L M\", a) $ rearrange(\"B T M -> B L M\", b)",
       "+", "-"},
      {"x: f32[B L M]", "B M", "return sum(\"B L M -> B M\", x * x)",
       "return $ * expand(\"B M -> B L M\", g) * x", "2", "3"},
      {"x: f32[B V]", "B", "return max(\"B V -> B\", x) * 2",
       "return where(iota(\"B V; V\") == argmax(\"B V -> B\", $x), 2 * g, 0)", "", "-"},
      {"x: f32[B V]", "B", "return min(\"B V -> B\", x)",
       "return where(iota(\"B V; V\") == argmax(\"B V -> B\", $x), g, 0)", "-", ""},
      {"x: f32[B L]", "B S M", "return expand(\"B S -> B S M\", x) * 3",
       "return $ * rearrange(\"B S -> B L\", sum(\"B S M -> B S\", g))", "3", "1"},
      {"x: f32[B (L M)]", "M B L", "return rearrange(\"B (L M) -> M B L\", x)",
       "return $ * rearrange(\"M B L -> B (L M)\", g)", "1", "2"},
      {"x: f32[K], y: f32[B (K D)]", "B (K D)", "return einsum(\"B (K D), K -> B (K D)\", y, x)",
       "return $ * einsum(\"B (K D), B (K D) -> K\", g, y)", "1", "2"},
      {"x: f32[B H], y: f32[D]", "B K", "return einsum(\"B K D, D -> B K\", x, y)",
       "return $ * einsum(\"B K, D -> B H\", g, y)", "1", "2"},
      {"x: f32[kv B L]", "B L", "return read(\"[kv] B L -> B L\", x, at=1)",
       "return concat(\"B L, B L -> [kv] B L\", $)", "0 * g, g", "g, 0 * g"},
      {"x: f32[B P]", "B L", "return read(\"B [P] -> B L\", x, at=|L|)",
       "return concat(\"B L, B L -> B [P]\", $)", "0 * g, g", "g, 0 * g"},
      {"x: f32[B P], y: f32[B L]", "B P", "return write(\"B [P], B L -> B P\", x, y, at=|L|)",
       "return where(iota(\"P\") < |L| + $, g, 0)", "0", "1"},
      {"x: f32[B L], y: f32[B P]", "B P", "return write(\"B [P], B L -> B P\", y, x, at=|L|)",
       "return read(\"B [P] -> B L\", g, at=$)", "|L|", "0"},
      {"x y: f32[B L]", "B P", "return concat(\"B L, B L -> B [P]\", y, x)",
       "return read(\"B [P] -> B L\", g, at=$)", "|L|", "0"},
      {"x: f32[B L]", "B L", "return roll(\"B [L] -> B [L]\", x, by=1)",
       "return roll(\"B [L] -> B [L]\", g, by=$)", "-1", "1"},
      {"x: f32[B L]", "B L", "return rev(\"B [L] -> B [L]\", x)",
       "return $rev(\"B [L] -> B [L]\", g)", "", "2 * "},
      {"x: f32[V M], ids: i32[B L]", "B L M", "return index(\"[V] M, B L -> B L M\", x, ids)",
       "return index_add(\"B L, B L M -> [V] M\", $, g)", "ids", "ids * 0"},
      {"x: f32[B V], ids: i32[B L]", "B L", "return index(\"B [V], B L -> B L\", x, ids)",
       "return index_add(\"B L, B L -> B [V]\", ids, g)$", "", " * 2"},
      {"x: f32[B L M], ids: i32[B L]", "V M",
       "_u = index(\"[V], B L -> B L\", f32(iota(\"V\")), ids)\n"
       "return index_add(\"B L, B L M -> [V] M\", ids, x)",
       "return index(\"[V] M, B L -> B L M\", g, ids)$", "", " * 2"},
      {"x: f32[B V]", "B L", "v, _i = top_k(\"B V -> B L\", x)\n return v",
       "_v, i = top_k(\"B V -> B L\", x)\n return index_add(\"B L, B L -> B [V]\", i, $g)", "",
       "-"},
  };
  return all;
}

/// The comparison of the last plan of a text.
Comparison compare_last(const std::string& text) {
  const Resolved r = read("text.shard", [&](const std::string&) { return std::optional(text); });
  return r.plans.empty() ? Comparison{} : compare_plan(r, r.plans.back(), {});
}

void equal_and_not(std::string text, const std::string& right, const std::string& wrong) {
  const size_t gap = text.find('$');
  const Comparison good = compare_last(std::string(text).replace(gap, 1, right));
  EXPECT_TRUE(good.equal) << text << why(good);
  const Comparison bad = compare_last(std::string(text).replace(gap, 1, wrong));
  EXPECT_FALSE(bad.equal) << text << wrong;
}

constexpr const char* stack = R"(
dim B M N
fn stack(x0: f32[B M], w: f32[N M]) -> (y: f32[B M], s: f32[]) {
    y, s = scan n in N, x: f32[B M] = x0, s0: f32[] = 0 {
        next tanh(x * w[n]), s0 + sum("B M -> ", x)
    }
    return y, s
}
)";

/// The hand-written one keeps each layer's input and sums the gradients of w in a carry; the loss
/// on the way is a carry of the model and none of its gradient.
TEST(Gradient, HandWrittenReverseScan) {
  equal_and_not(std::string(stack) + R"(
plan b implements grad(stack)(x0: f32[B M], w: f32[N M], g: f32[B M], gs: f32[]) -> (g_x0: f32[B M], g_w: f32[N M]) {
    _y, xs, hs = scan n in N, x: f32[B M] = x0 {
        h = tanh(x * w[n])
        next h
        emit x, h
    }
    g0, gw = scan n in N reverse, gx: f32[B M] = g {
        a = gx * (1 - hs[n] * hs[n])
        next a * w[n] + $
        emit sum("B M -> M", a * xs[n])
    }
    return g0, gw
}
)",
                "gs", "0");
}

TEST(Gradient, WhatAddsUpIsASum) {
  const char* model = R"(
dim B M N
fn f(x: f32[N B], w: f32[N B]) -> (a: f32[B], b: f32[N B]) {
    return sum("N B -> B", x * w), x * w
}
plan p implements f(x: f32[N B], w: f32[N B]) -> (a: f32[B], b: f32[N B]) {
    _d, s, e = scan n in N reverse, d: f32[B] = x[0], s0: f32[B] = zeros(f32[B]) {
        next tanh(d), $ + x[n] * w[n]
        emit x[n] * w[n]
    }
    return s, e
}
)";
  std::string text = model;
  text.replace(text.find("x[0]"), 4, "sum(\"N B -> B\", x)");
  equal_and_not(text, "s0", "d");
}

/// What is emitted is the body at the carries of its step: made again, it is the same.
TEST(Gradient, WhatIsEmittedIsRecomputed) {
  equal_and_not(R"(
dim B N
fn f(x: f32[B], w: f32[N B]) -> f32[N B] {
    _y, hs = scan n in N, c: f32[B] = x {
        h = exp(c * w[n])
        next h + c
        emit h * h
    }
    return hs
}
plan p implements f(x: f32[B], w: f32[N B]) -> f32[N B] {
    _k, _y, cs = scan n in N, k: f32[B] = x, c: f32[B] = x {
        next k * c * w[n], c + exp(c * w[n])
        emit c
    }
    e = exp(cs * w)
    return e * $
}
)",
                "e", "w");
}

TEST(Gradient, EveryPullBack) {
  for (const Written& w : written()) {
    const Comparison right = compare_text(w, w.right);
    EXPECT_TRUE(right.equal) << w.model << ": " << why(right);
    const Comparison wrong = compare_text(w, w.wrong);
    EXPECT_FALSE(wrong.equal) << w.model << " with " << w.wrong;
    EXPECT_FALSE(wrong.unsupported) << w.model << ": " << wrong.unsupported.value_or("");
  }
}

}  // namespace
}  // namespace shardproof::lower
