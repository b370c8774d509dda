// Claims of gradients and training steps against numbers: what is wrong is refuted, with the right
// factor, and what is right is not.
#include "spec/check/refute.h"

#include <gtest/gtest.h>

#include <cmath>

#include "spec/check/check.h"
#include "spec/check/claim.h"

namespace shardproof {
namespace refute_test {

/// A file whose first `from` is written `to`, so that one place in it is wrong.
ir::Program program(std::string text, const std::string& from = "", const std::string& to = "") {
  if (!from.empty()) {
    EXPECT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
  }
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const FileReader reader = [&](const std::string&) { return std::optional(text); };
  Resolved resolved = resolve(sources, "claim.shard", reader, diagnostics);
  for (const Diagnostic& each : diagnostics)
    if (each.severity == Severity::error) ADD_FAILURE() << each.message;
  return std::move(resolved.program);
}

std::optional<Refutation> refute_last(const ir::Program& p) {
  std::string why;
  auto refutation = refute(p, p.functions.size() - 1, &why);
  EXPECT_EQ(why, "");
  return refutation;
}

const char* const layer = R"(
mesh t
dim B D H
fn layer(x: f32[B D], a: f32[D H]) -> f32[B D] {
    h = einsum("B D, D H -> B H", x, a)
    return x + einsum("B H, D H -> B D", silu(h), a)
}
plan forward implements layer(x: f32[B D], a: f32[D H/t]) -> f32[B D] {
    h = save(einsum("B D, D H/t -> B H/t", x, a))
    return x + all_reduce("B D {U_t} -> B D", einsum("B H/t, D H/t -> B D {U_t}", silu(h), a))
}
plan backward implements grad(layer) after forward(
        x: f32[B D], a: f32[D H/t], g: f32[B D]{U_t}; h: f32[B H/t]) -> (g_x: f32[B D]{U_t}, g_a: f32[D H/t]) {
    gr   = all_reduce("B D {U_t} -> B D", g)
    g_s  = einsum("B D, D H/t -> B H/t", gr, a)
    g_h  = silu_grad(g_s, h)
    g_up = einsum("B D, B H/t -> D H/t", x, g_h)
    g_dn = einsum("B D, B H/t -> D H/t", gr, silu(h))
    return g + einsum("B H/t, D H/t -> B D {U_t}", g_h, a), g_up + g_dn
}
)";

/// The line is looked for at other sizes, at some of which an id is no row of the table.
TEST(RefuteStep, AScaleByAnAxisBesideAnEmbedding) {
  const std::string path = SHARDPROOF_SOURCE_DIR "/spec/models/llama_train.shard";
  std::string text = disk_reader()(path).value();
  const std::string scale = "1 / |A|)\n}\n";
  const size_t at = text.rfind(scale);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, scale.size(), "1 / (|A| / |d|))\n}\n");
  const FileReader reader = [&](const std::string& asked) {
    return asked == path ? std::optional(text) : disk_reader()(asked);
  };
  CheckOptions options;
  options.fixes = false;
  options.only = "accumulated_grad_sharded";
  Sources sources;
  const CheckedProgram checked = check(sources, path, reader, options);
  ASSERT_EQ(checked.plans().size(), 1u);
  EXPECT_EQ(checked.plans()[0].diagnostics.at(0).label, "equal up to the factor |d|");
}

TEST(RefuteGradient, ARightBackwardIsNotRefuted) { EXPECT_FALSE(refute_last(program(layer))); }

TEST(RefuteGradient, AWrongBackwardIs) {
  const auto first_wrong = [](const char* from, const char* to) {
    const auto refutation = refute_last(program(layer, from, to));
    return refutation ? static_cast<int>(refutation->result) : -1;
  };
  EXPECT_EQ(first_wrong("return g + einsum", "return einsum"), 0);  // the residual is lost
  EXPECT_EQ(first_wrong("g_up + g_dn", "g_up - g_dn"), 1);
  EXPECT_EQ(first_wrong("silu_grad(g_s, h)", "silu_grad(g_s, silu(h))"), 0);  // another value saved
  EXPECT_EQ(first_wrong("silu_grad(g_s, h)", "g_s * h"), 0);
  EXPECT_EQ(first_wrong("gr, silu(h))", "gr, h)"), 1);
}

TEST(RefuteGradient, AFactorIsTold) {
  const auto refutation = refute_last(program(layer, "g_up + g_dn", "2 * (g_up + g_dn)"));
  ASSERT_TRUE(refutation);
  EXPECT_EQ(refutation->result, 1u);
  EXPECT_TRUE(refutation->uniform);
  EXPECT_NEAR(refutation->ratio, 2, 1e-9);
  EXPECT_NE(refutation->numbers.lines.at(0).find("the gradient is"), std::string::npos);
}

/// The checker's report on the file's last plan.
PlanReport report(std::string text, const std::string& from = "", const std::string& to = "") {
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  Sources sources;
  const FileReader reader = [&](const std::string&) { return std::optional(text); };
  return check(sources, "claim.shard", reader).plans().back();
}

TEST(RefuteGradient, TheCheckerSaysWhichGradient) {
  EXPECT_EQ(report(layer).verdict, Verdict::proved);
  const PlanReport lost = report(layer, "return g + einsum", "return einsum");
  ASSERT_EQ(lost.verdict, Verdict::refuted);
  EXPECT_EQ(lost.diagnostics.at(0).code, "E0403");
  EXPECT_EQ(lost.diagnostics[0].message,
            "result `g_x` of backward is not the gradient of layer with respect to x");
  EXPECT_TRUE(lost.diagnostics[0].counterexample);
  const PlanReport twice = report(layer, "g_up + g_dn", "2 * (g_up + g_dn)");
  ASSERT_EQ(twice.verdict, Verdict::refuted);
  EXPECT_EQ(twice.diagnostics.at(0).code, "E0402");
  EXPECT_EQ(twice.diagnostics[0].message,
            "result `g_a` of backward is not the gradient of layer with respect to a");
  EXPECT_EQ(twice.diagnostics[0].details.back(),
            "at these sizes the plan is 2 times the gradient, entry by entry");
}

TEST(RefuteGradient, OneParameterAlone) {
  const std::string text = R"(
dim B K
fn loss(x: f32[B K], w: f32[K]) -> f32[] { return sum("B K -> ", softmax("B K; K", x * w) * x) }
plan g_w implements grad(loss wrt w)(x: f32[B K], w: f32[K], g: f32[]) -> f32[K] {
    y = softmax("B K; K", x * w)
    return sum("B K -> K", softmax_grad("B K, B K; K", x * g, y) * x)
}
)";
  EXPECT_FALSE(refute_last(program(text)));
  EXPECT_TRUE(refute_last(program(text, "x * g, y) * x", "x * g, y)")));
}

// The gradient of a shift of softmax is 0: what rounding leaves of it refutes nothing.
TEST(RefuteGradient, RoundingIsNoDifference) {
  const std::string text = R"(
dim B K
fn shifted(x: f32[B K], s: f32[B]) -> f32[B K] { return softmax("B K; K", x + s) }
plan nothing implements grad(shifted wrt s)(x: f32[B K], s: f32[B], g: f32[B K]) -> f32[B] {
    return s * 0
}
)";
  EXPECT_FALSE(refute_last(program(text)));
  EXPECT_TRUE(refute_last(program(text, "s * 0", "s * 0.001")));
}

const char* const training = R"(
mesh d
dim B M A
fn loss(w: f32[M], x: f32[B M]) -> f32[] {
    e = einsum("B M, M -> B", x, w)
    return sum("B -> ", e * e) / |B|
}
fn step(w m v: f32[M], x: f32[A B M], step lr: f32[]) -> (w1 m1 v1: f32[M], norm: f32[]) {
    g = scan a in A, s: f32[M] = zeros(f32[M]) {
        _l, ga = value_and_grad(loss wrt w)(w, x[a])
        next s + ga
    }
    w1, m1, v1 = adamw(w, scale_by(g, 1 / |A|), m, v, step, lr, 0.1)
    return w1, m1, v1, sqrt(sumsq(g))
}
plan loss_dp implements loss(w: f32[M], x: f32[B/d M]) -> f32[]{U_d} {
    e = einsum("B/d M, M -> B/d", x, w)
    return sum("B/d -> {U_d}", e * e) / |B|
}
plan step_dp implements step(w m v: f32[M], x: f32[A B/d M], step lr: f32[]) -> (w1 m1 v1: f32[M], norm: f32[]) {
    g = scan a in A, s: f32[M]{U_d} = zeros(f32[M]{U_d}) {
        _l, ga = value_and_grad(loss_dp wrt w)(w, x[a])
        next s + ga
    }
    gr = all_reduce("M {U_d} -> M", g)
    w1, m1, v1 = adamw(w, scale_by(gr, 1 / |A|), m, v, step, lr, 0.1)
    return w1, m1, v1, sqrt(sumsq(gr))
}
)";

TEST(RefuteStep, ARightStepIsNotRefuted) { EXPECT_FALSE(refute_last(program(training))); }

TEST(RefuteStep, AWrongStepIs) {
  const std::string plan = "plan step_dp";
  const size_t at = std::string(training).find(plan);
  const auto first_wrong = [&](const char* from, const char* to) {
    std::string text = std::string(training).substr(at);
    text.replace(text.find(from), std::string(from).size(), to);
    const auto refutation = refute_last(program(std::string(training).substr(0, at) + text));
    return refutation ? static_cast<int>(refutation->result) : -1;
  };
  EXPECT_EQ(first_wrong("1 / |A|", "1"), 0);
  EXPECT_EQ(first_wrong("next s + ga", "next ga"), 0);
  EXPECT_EQ(first_wrong("0.1)", "0.2)"), 0);
  EXPECT_EQ(first_wrong("sqrt(sumsq(gr))", "sumsq(gr)"), 3);
}

TEST(RefuteValue, WhatExponentialsBeyondDoublesHideRefutesNothing) {
  const std::string head = "mesh d\ndim B L\n";
  for (const std::string equal : {
           R"(fn f(x: f32[B L]) -> f32[B L] { return softmax("B L; L", x) }
plan p implements f(x: f32[B/d L]) -> f32[B/d L] {
    e = exp(x + 1e30)
    return e / sum("B/d L -> B/d", e)
})",
           R"(fn f(x: f32[B L]) -> f32[B L] { return softmax("B L; L", x) }
plan p implements f(x: f32[B/d L]) -> f32[B/d L] {
    e = exp(x - 2000)
    return e / sum("B/d L -> B/d", e)
})",
           R"(fn f(x: f32[B L]) -> f32[B L] { return x }
plan p implements f(x: f32[B/d L]) -> f32[B/d L] { return log(exp(x + 2000)) - 2000 })",
           R"(fn f(x: f32[B L]) -> f32[B L] { return exp(x) }
plan p implements f(x: f32[B/d L]) -> f32[B/d L] { return exp(x + 1000) * exp(-1000) })",
           R"(fn f(x: f32[B L]) -> f32[B L] { return exp(800 * x) / (1 + exp(800 * x)) }
plan p implements f(x: f32[B/d L]) -> f32[B/d L] { return 1 - exp(-800 * x) / (1 + exp(-800 * x)) })"})
    if (const auto refutation = refute_last(program(head + equal)))
      ADD_FAILURE() << equal << refutation->numbers.lines.at(0);
}

TEST(RefuteValue, WhatIsNoNumberOnlyInDoublesMayHaveAValue) {
  const ir::Program p = program(R"(
mesh d
dim B
fn one(x: f32[B]) -> f32[B] { return exp(x) / exp(x) }
fn none(x: f32[B]) -> f32[B] { return x / (x - x) }
)");
  const auto finite = [&](const Name& name) {
    size_t function = 0;
    while (p.functions.at(function).name != name) ++function;
    const denote::Types types = denote::types_for(p, function);
    const PointOfPlan point{&p, &types, function, {{{"d", 1}}, {{"B", 1}}}, {{{1}, {-1e5}}}, {}};
    EXPECT_FALSE(std::isfinite(claimed(point).at(0).data.at(0)));
    return finite_without_underflow(point, claimed, 0, 0);
  };
  EXPECT_TRUE(finite("one"));
  EXPECT_FALSE(finite("none"));
}

TEST(RefuteValue, AnExponentialBeyondDoublesThatMeetsZeroHidesNoDifference) {
  EXPECT_TRUE(refute_last(program(R"(
mesh d
dim B L
fn f(x: f32[B L], y: f32[B]) -> f32[B L] { return x }
plan p implements f(x: f32[B/d L], y: f32[B/d]) -> f32[B/d L] { return 2 * x + zeros(f32[B/d]) * exp(y * y + 1e30) }
)")));
}

TEST(RefuteValue, APlanThatShiftsBlocksRunsWhereTheAxesDivide) {
  const ir::Program p = program(R"(
mesh d t
dim H M
fn f(x: f32[H], w: f32[H M]) -> f32[M] { return einsum("H, H M -> M", x, w) }
plan p implements f(x: f32[H/t], w: f32[H/t M]) -> f32[M] {
    to = ppermute("[H/t] -> [H/t]", x, by=1)
    fro = ppermute("[H/t] M -> [H/t] M", w, by=-1)
    return all_reduce("M {U_t} -> M", einsum("H/t, H/t M -> M {U_t}", to, fro))
}
)");
  EXPECT_TRUE(refute_last(p));  // on two devices both shifts are one
}

TEST(RefuteValue, NoEntryIsInfinite) {
  EXPECT_FALSE(refute_last(program(R"(
mesh d
dim B L
fn f(x: f32[B L]) -> f32[B L] { return where(x > 0, 1 / exp(x), 1) }
plan p implements f(x: f32[B/d L]) -> f32[B/d L] {
    return where(x > 0, 1 / exp(x), 1 + cos(2 * x) - 2 * cos(x) * cos(x) + 1)
}
)")));
}

}  // namespace refute_test
}  // namespace shardproof
