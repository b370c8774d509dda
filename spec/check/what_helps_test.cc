// The advice for an undecided plan: the parts that can be compared one by one, by name.
#include "spec/check/what_helps.h"

#include <gtest/gtest.h>

#include "spec/check/check.h"

namespace shardproof {
namespace what_helps_test {

/// The details of the last plan, which is undecided: five times an angle is not known.
std::vector<std::string> details(const std::string& text) {
  Sources sources;
  const FileReader reader = [&](const std::string&) { return std::optional(text); };
  CheckOptions options;
  options.patience = 20;
  const CheckedProgram checked = check(sources, "plan.shard", reader, options);
  for (const Diagnostic& each : checked.diagnostics())
    if (each.severity == Severity::error) ADD_FAILURE() << each.message;
  EXPECT_FALSE(checked.plans().empty());
  if (checked.plans().empty()) return {};
  const PlanReport& last = checked.plans().back();
  EXPECT_EQ(last.verdict, Verdict::unknown) << text;
  return last.diagnostics.empty() ? std::vector<std::string>() : last.diagnostics[0].details;
}

bool says(const std::vector<std::string>& details, const std::string& sentence) {
  return std::any_of(details.begin(), details.end(), [&](const std::string& each) {
    return each.find(sentence) != std::string::npos;
  });
}

const std::string layers = R"(
mesh t
dim B D H
fn layer(x: f32[B D], a: f32[D H]) -> f32[B D] {
    h = einsum("B D, D H -> B H", x, a)
    return x + einsum("B H, D H -> B D", tanh(h) * h, a)
}
plan layer_t implements layer(x: f32[B D], a: f32[D H/t]) -> f32[B D] {
    h = einsum("B D, D H/t -> B H/t", x, a)
    return x + all_reduce("B D {U_t} -> B D", einsum("B H/t, D H/t -> B D {U_t}", tanh(h) * h, a))
}
)";
const std::string sum =
    "    u = cos(z)\n"
    "    one = 16 * pow(u, 5) - 20 * pow(u, 3) + 5 * u - cos(5 * z) + 1\n"
    "    return sum(\"B D ->\", z * z * one)\n}\n";

TEST(WhatHelps, AScanForCallsInARow) {
  const std::string calls = "    x1 = L(x, a)\n    x2 = L(x1, b)\n    z = L(x2, c)\n";
  const auto of = [&](const std::string& name) {
    std::string text = calls;
    for (size_t at; (at = text.find("L(")) != std::string::npos;) text.replace(at, 1, name);
    return text;
  };
  const auto told = details(layers + "fn f(x: f32[B D], a b c: f32[D H]) -> f32[] {\n" +
                            of("layer") + "    return sum(\"B D ->\", z * z)\n}\n" +
                            "plan f_t implements f(x: f32[B D], a b c: f32[D H/t]) -> f32[] {\n" +
                            of("layer_t") + sum);
  EXPECT_TRUE(says(told, "`f_t` calls `layer_t` 3 times: write a scan over stacked parameters"));
  EXPECT_TRUE(says(told, "`f` calls `layer` 3 times: write a scan over stacked parameters"));
  EXPECT_FALSE(says(told, "instructions: move a part"));
}

TEST(WhatHelps, AModelThatWritesOutWhatThePlanCalls) {
  const auto told = details(layers + R"(
fn f(x: f32[B D], a: f32[D H]) -> f32[] {
    h = einsum("B D, D H -> B H", x, a)
    z = x + einsum("B H, D H -> B D", tanh(h) * h, a)
    return sum("B D ->", z * z)
}
plan f_t implements f(x: f32[B D], a: f32[D H/t]) -> f32[] {
    z = layer_t(x, a)
)" + sum);
  EXPECT_TRUE(
      says(told,
           "`f_t` calls `layer_t`, but `f` has the code of `layer` inline: call `layer` there, "
           "so that the calls are compared"));
}

TEST(WhatHelps, APlanForAPartOfALongOne) {
  std::string lines;
  for (int i = 0; i < 12; ++i) {
    const std::string n = std::to_string(i), x = i == 0 ? "x" : "x" + std::to_string(i - 1);
    lines += "    x" + n + " = " + x + " * sin(a * " + x + ")\n";
  }
  const auto told =
      details("mesh t\ndim B D\nfn f(x a: f32[B D]) -> f32[] {\n" + lines +
              "    return sum(\"B D ->\", x11 * x11)\n}\n" +
              "plan f_t implements f(x a: f32[B D]) -> f32[] {\n" + lines + "    z = x11\n" + sum);
  EXPECT_TRUE(
      says(told, " instructions: move a part of it to a plan that implements a fn that `f` calls"));
}

TEST(WhatHelps, NothingIsSaidOfAShortPlan) {
  const auto told = details(
      "mesh t\ndim B D\nfn f(z: f32[B D]) -> f32[] { return sum(\"B D ->\", z * z) }\n"
      "plan f_t implements f(z: f32[B D]) -> f32[] {\n" +
      sum);
  EXPECT_TRUE(says(told, "plan - model simplifies to"));
  EXPECT_FALSE(says(told, "a scan"));
  EXPECT_FALSE(says(told, "move a part"));
}

TEST(WhatHelps, WhatIsWrittenOutTooOften) {
  std::string text = "mesh t\ndim B\nfn g0(x: f32[B]) -> f32[B] { return sin(x) + x }\n";
  for (int i = 1; i <= 30; ++i) {
    const std::string below = "g" + std::to_string(i - 1);
    text += "fn g" + std::to_string(i) + "(x: f32[B]) -> f32[B] { return " + below + "(" + below +
            "(x)) }\n";
  }
  const auto told = details(text + "plan p implements g30(x: f32[B/t]) -> f32[B/t] { return x }\n");
  EXPECT_TRUE(says(told, "`g30` has over 50000 instructions"));
}

TEST(WhatHelps, TheFirstResultThatIsNotShown) {
  const auto told = details(
      "mesh t\ndim B\nfn f(x: f32[B]) -> (a b: f32[B]) { return x, x }\nplan f_t implements f(x: "
      "f32[B/t]) -> (a "
      "b: f32[B/t]) { return x, x * (16 * pow(cos(x), 5) - 20 * pow(cos(x), 3) + 5 * cos(x) - "
      "cos(5 * x) + 1) }\n");
  EXPECT_TRUE(says(told, "the first result without a proof: result `b` of f_t"));
}

}  // namespace what_helps_test
}  // namespace shardproof
