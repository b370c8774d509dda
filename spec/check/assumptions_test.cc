// A condition that the plan needs but its model does not is printed as an assumption.
#include <gtest/gtest.h>

#include <algorithm>

#include "spec/check/check.h"

namespace shardproof {
namespace {

using Texts = std::vector<std::string>;

/// The assumptions of plan p, which is proved.
Texts assumed(const std::string& text) {
  Sources sources;
  CheckOptions options;
  options.fixes = false;
  const FileReader reader = [&](const std::string& path) -> std::optional<std::string> {
    return path == "test.shard" ? std::optional("mesh t\ndim B N\n" + text) : std::nullopt;
  };
  const CheckedProgram checked = check(sources, "test.shard", reader, options);
  for (const PlanReport& plan : checked.plans())
    if (plan.name == "p" && plan.verdict == Verdict::proved) return plan.assumptions;
  return {"p is not proved"};
}

const Texts none, positive = {"x[B] > 0"}, nonzero = {"c[B] != 0"};

std::string pair(const std::string& model, const std::string& plan) {
  return "fn f(x c: f32[B]) -> f32[B] { " + model +
         " }\nplan p implements f(x c: f32[B/t]) -> f32[B/t] { " + plan + " }\n";
}

TEST(Assumptions, OfTheOtherBranch) {
  const std::string log = "return where(x > 0, log(x), x)";
  EXPECT_EQ(assumed(pair(log, log)), none);
  EXPECT_EQ(assumed(pair(log, "return where(x > 0, log(x), exp(log(x)))")), positive);
  EXPECT_EQ(assumed(pair("a = log(x)\n c0 = x > 0\n return where(c0, a, x)",
                         "return where(not (x > 0), exp(log(x)), log(x))")),
            positive);
  const std::string divided = "return where(c != 0, x / c, x)";
  EXPECT_EQ(assumed(pair(divided, divided)), none);
  EXPECT_EQ(assumed(pair(divided, "return where(c != 0, x / c, x * c / c)")), nonzero);
}

TEST(Assumptions, OfNoBranchAreTheModelsEverywhere) {
  EXPECT_EQ(assumed(pair("return x / c", "return x * c / c / c")), none);
  EXPECT_EQ(assumed(pair("return x / c", "return where(c > 1, x / c, x / c)")), none);
}

TEST(Assumptions, InABranchWhereItHoldsNothingIsNeeded) {
  EXPECT_EQ(assumed(pair("return where(x > 0, x, c)", "return where(x > 0, exp(log(x)), c)")),
            none);
}

/// A root has a value at 0, a logarithm has none there.
TEST(Assumptions, ARootExcusesNoLogarithm) {
  EXPECT_EQ(assumed(pair("return sqrt(x)", "return sqrt(x) + (log(x) - log(x))")),
            Texts{"x[B] != 0"});
  EXPECT_EQ(assumed(pair("return log(x)", "return log(x) + (sqrt(x) - sqrt(x)) + c * (x / x - 1)")),
            none);
}

TEST(Assumptions, OfACarryAreToldForEachStep) {
  const auto of = [](const std::string& next,
                     const std::string& form = "scan n in N, s: f32[B/t] = x") {
    return assumed(
        "fn f(x: f32[B], w: f32[N B]) -> f32[B] { return x + sum(\"N B -> B\", w) }\n"
        "plan p implements f(x: f32[B/t], w: f32[N B/t]) -> f32[B/t] {\n r, _c = " +
        form + ", c: f32[] = 0 { next " + next + ", c + 1 }\n return r }\n");
  };
  EXPECT_EQ(of("s + w[n]"), none);
  EXPECT_EQ(of("sqrt(s) * sqrt(s) + w[n]"), Texts{"s[B] > 0 in each step over N"});
  EXPECT_EQ(of("exp(log(s)) + w[n]"), Texts{"s[B] > 0 in each step over N"});
  EXPECT_EQ(of("s / s * w[n] + s"), Texts{"s[B] != 0 in each step over N"});
  EXPECT_EQ(of("s + where(sqrt(7.5 - c) >= 0, w[n], 0)"),
            Texts{"15/2 - c > 0 in each step over N"});
  EXPECT_EQ(of("s + where(c > 3, sqrt(s) * sqrt(s) / s, 1) * w[n]").size(), 1u);
}

/// The carry of the model's loop is called the same, and begins elsewhere.
TEST(Assumptions, OfACarryAreNotThoseOfAnotherLoop) {
  const auto of = [](const std::string& start) {
    const std::string next = " { next sqrt(s) * sqrt(s) + w[n] }\n return r";
    return assumed("fn f(x: f32[B], w: f32[N B]) -> f32[B] {\n r = scan n in N, s: f32[B] = x * x" +
                   next +
                   " - x * x + x }\nplan p implements f(x: f32[B/t], w: f32[N B/t]) -> f32[B/t] {\n"
                   " r = scan n in N, s: f32[B/t] = " +
                   start + next + " - " + start + " + x }\n");
  };
  EXPECT_EQ(of("x * x"), none);
  EXPECT_EQ(of("x"), Texts{"s[B] > 0 in each step over N"});
}

TEST(Assumptions, OfARingAreToldForEachStep) {
  const auto of = [](const std::string& next) {
    return assumed(
        "fn f(x: f32[B], k: f32[N]) -> f32[B] { return x + expand(\" -> B\", sum(\"N -> \", k)) }\n"
        "plan p implements f(x: f32[B/t], k: f32[N/t]) -> f32[B/t] {\n"
        " o = ring b over N/t as W, s: f32[B/t] = x {\n  next " +
        next + " + expand(\" -> B/t\", sum(\"W -> \", k[b]))\n }\n return o }\n");
  };
  EXPECT_EQ(of("s"), none);
  EXPECT_EQ(of("sqrt(s) * sqrt(s)"), Texts{"s[B] > 0 in each step of the ring"});
}

TEST(Assumptions, OfAGradientAreSaidOfWhatItIsTakenOf) {
  const auto of = [](const std::string& x) {
    return assumed(
        "fn g(x: f32[B]) -> f32[] { return sum(\"B -> \", abs(x)) }\n"
        "plan q implements g(x: f32[B/t]) -> f32[]{U_t} { return sum(\"B/t -> {U_t}\", sqrt(x*x)) "
        "}\n"
        "fn f(x: f32[B]) -> f32[B] { return x - grad(g)(" +
        x +
        ", 1.0) }\n"
        "plan p implements f(x: f32[B/t]) -> f32[B/t] { return x - grad(q)(" +
        x + ", 1.0) }\n");
  };
  EXPECT_EQ(of("x"), Texts{"x[B]^2 != 0"});
  EXPECT_EQ(of("relu(x)"), Texts{"x[B]^2 != 0 in the gradient of q"});
}

TEST(Assumptions, ThatAreTooLongNameTheOperandAndItsLine) {
  const std::string sum = "exp(x * tanh(x + c)) * exp(c * tanh(x)) - exp(exp(x) - tanh(x * c))";
  const auto of = [&](const std::string& plan) { return assumed(pair("return x", plan)); };
  EXPECT_EQ(of("n = " + sum + "\n return x * n / n"), Texts{"`n` in line 5 != 0"});
  EXPECT_EQ(of("return x *\n (" + sum + ") / (" + sum + ")"), Texts{"the divisor in line 4 != 0"});
  EXPECT_EQ(of("n = log(" + sum + ")\n return x + n - n"),
            Texts{"the operand of log in line 4 > 0"});
  const std::string quotient = "fn q(x c: f32[...]) -> f32[...] { return x / c }\n";
  EXPECT_EQ(assumed(quotient + pair("return x", "n = " + sum + "\n return q(x * n, n)")),
            Texts{"the divisor in `q` in line 6 != 0"});
}

TEST(Assumptions, OfAnotherResult) {
  const auto both = [](const std::string& second) {
    return "fn f(x c: f32[B]) -> (a: f32[B], b: f32[B]) { return x / c, x }\n"
           "plan p implements f(x c: f32[B/t]) -> (a: f32[B/t], b: f32[B/t]) { return x / c, " +
           second + " }\n";
  };
  EXPECT_EQ(assumed(both("x")), none);
  EXPECT_EQ(assumed(both("x * c / c")), nonzero);
}

std::string same(const std::string& plan) {
  return "fn f(x: f32[B N], n: i32[]) -> f32[B N] { return x }\n"
         "plan p implements f(x: f32[B/t N], n: i32[]) -> f32[B/t N] { return " +
         plan + " }\n";
}

TEST(Assumptions, ASizeInAnIntegersPlaceIsAWholeNumber) {
  const Texts half = {"|N| / 2 is a whole number"};
  EXPECT_EQ(assumed(same("roll(\"B/t [N]\", roll(\"B/t [N]\", x, by=|N|/2), by=|N|/2)")), half);
  EXPECT_EQ(assumed(same("x + f32(n + |N|/2) - f32(n) - |N|/2")), half);
  EXPECT_EQ(assumed(same("where(n == |N|/2, x, x + 0)")), half);
  EXPECT_EQ(assumed(same("x + |N|/2 - |N|/2")), none);
  EXPECT_EQ(assumed(same("roll(\"B/t [N]\", roll(\"B/t [N]\", x, by=|N|//2), by=-(|N|//2))")),
            none);
  EXPECT_EQ(assumed(same("roll(\"B/t [N]\", x, by=2*|N|)")), none);
}

TEST(Assumptions, WhatIsStatedIsNotRepeated) {
  const auto entry = [](const std::string& stated) {
    return "fn f(x: f32[B N], n: i32[]) -> f32[B] {\n" + stated +
           "\nreturn read(\"B [N] -> B\", x, at=n) }\n"
           "plan p implements f(x: f32[B/t N], n: i32[]) -> f32[B/t] {"
           " return read(\"B/t [N] -> B/t\", x, at=n) }\n";
  };
  EXPECT_EQ(assumed(entry("assume 0 <= n <= |N| - 1")), Texts{"0 <= n <= |N| - 1"});
  EXPECT_EQ(assumed(entry("assume 0 <= n <= |N|")), (Texts{"0 <= n <= |N|", "n + 1 <= |N|"}));
}

TEST(Assumptions, TheSizesOfTheParts) {
  const std::string dims = "dim P\nrequire 2 * |N| <= |P|\n";
  const std::string model = "fn f(x: f32[B P]) -> f32[B P] { return x }\n";
  const std::string parts =
      "read(\"B/t [P] -> B/t N\", x, at=0), read(\"B/t [P] -> B/t N\", x, at=|N|)";
  const Texts found = assumed(dims + model +
                              "plan p implements f(x: f32[B/t P]) -> f32[B/t P] { return "
                              "concat(\"B/t N, B/t N -> B/t [P]\", " +
                              parts + ") }\n");
  EXPECT_EQ(std::count(found.begin(), found.end(), "2*|N| == |P|"), 1);
}

TEST(Assumptions, APowerOfAValueHasAPositiveBase) {
  EXPECT_EQ(assumed(pair("return c", "return c + pow(x, c) - pow(x, c)")), positive);
  EXPECT_EQ(assumed(pair("return pow(x, c)", "return pow(x, c)")), none);
  EXPECT_EQ(assumed(pair("return c", "return c + pow(exp(x), c) - pow(exp(x), c)")), none);
}

TEST(Assumptions, ThroughACall) {
  const std::string callee =
      "fn g(x c: f32[B]) -> f32[B] { return where(c != 0, x / c, x) }\n"
      "fn h(a x c: f32[B]) -> f32[B] { return where(c != 0, a, x) }\n";
  EXPECT_EQ(assumed(callee + pair("return g(x, c)", "return where(c != 0, x / c, x * c / c)")),
            nonzero);
  EXPECT_EQ(assumed(callee + pair("return h(x / c, x, c)",
                                  "return x * c / c * f32(c == 0) + "
                                  "where(c != 0, x / c, 0)")),
            nonzero);
}

TEST(Assumptions, OfOneEntryAreNotThoseOfAll) {
  EXPECT_EQ(assumed("fn f(x c: f32[N B]) -> f32[B] { return read(\"[N] B -> B\", x / c, at=0) }\n"
                    "plan p implements f(x c: f32[N B/t]) -> f32[B/t] {\n"
                    "  return read(\"[N] B/t -> B/t\", x / c, at=0) + read(\"[N] B/t -> B/t\", "
                    "0 * x / c, at=0) + 0 * sum(\"N B/t -> B/t\", x / c) }\n"),
            (Texts{"c[N, B] != 0"}));
}

TEST(Assumptions, InALoopAndInAGradient) {
  const auto loop = [](const std::string& other) {
    return "fn f(x: f32[N B], z: f32[B]) -> f32[B] { y = scan n in N, s: f32[B] = z { next s + "
           "where(x[n] > 0, log(x[n]), x[n]) }\n return y }\n"
           "plan p implements f(x: f32[N B/t], z: f32[B/t]) -> f32[B/t] { y = scan n in N, s: "
           "f32[B/t] = z { next s + where(x[n] > 0, log(x[n]), " +
           other + ") }\n return y }\n";
  };
  EXPECT_EQ(assumed(loop("x[n]")), none);
  EXPECT_EQ(assumed(loop("exp(log(x[n]))")), (Texts{"x[N, B] > 0"}));
  const auto gradient = [](const std::string& other) {
    return "fn f(x: f32[B]) -> f32[B] { return where(x > 0, log(x), x) }\n"
           "plan p implements grad(f)(x: f32[B/t], g: f32[B/t]) -> f32[B/t] { return where(x > 0, "
           "g / x, " +
           other + ") }\n";
  };
  EXPECT_EQ(assumed(gradient("g")), none);
  EXPECT_EQ(assumed(gradient("g * x / x")), (Texts{"x[B] != 0"}));
}

const std::string table = "dim P M\nfn f(e: f32[P M], n: i32[]) -> f32[M] {\n";

/// A plan of `table` that reads the entry at `at`.
std::string reads(const std::string& at, const std::string& plans) {
  return table + "    at = " + at + "\n    return read(\"[P] M -> M\", e, at=at)\n}\n" +
         "plan p implements f(e: f32[P M/t], n: i32[]) -> f32[M/t] {\n    at = " + plans +
         "\n    return read(\"[P] M/t -> M/t\", e, at=at)\n}\n";
}

TEST(Assumptions, NotOfWhatTheInstructionsBound) {
  for (const std::string at : {"n % |P|", "(n + 3) % |P|", "minimum(maximum(n, 0), |P| - 1)",
                               "where(n < 0, 0, n % |P|)", "(n % 5) % |P|"})
    EXPECT_EQ(assumed(reads(at, at)), none) << at;
  EXPECT_EQ(assumed(reads("n", "n")), (Texts{"0 <= n", "n + 1 <= |P|"}));
  EXPECT_EQ(assumed(reads("n - n % |P|", "n - n % |P|")), (Texts{"0 <= at", "at + 1 <= |P|"}));
  EXPECT_EQ(assumed(reads("n % 5", "n % 5")), Texts{"at + 1 <= |P|"});
  EXPECT_EQ(assumed(reads("maximum(n, 0)", "maximum(n, 0)")), Texts{"at + 1 <= |P|"});
  // One more than the last.
  EXPECT_EQ(assumed(reads("n % (|P| + 1)", "n % (|P| + 1)")), Texts{"at + 1 <= |P|"});
}

TEST(Assumptions, OfAnIndexOnceThroughAGradient) {
  const std::string text =
      "dim V M\ndim W pads V\n"
      "fn loss(e: f32[V M], ids: i32[B]) -> f32[] {\n"
      "    x = index(\"[V] M, B -> B M\", e, ids)\n    return sum(\"B M ->\", x * x)\n}\n"
      "fn f(e: f32[V M], ids: i32[B]) -> (e1: f32[V M]) {\n"
      "    _l, g = value_and_grad(loss wrt e)(e, ids)\n    return e - g\n}\n"
      "plan loss_t implements loss(e: f32[W/t M], ids: i32[B]) -> f32[]{I_t} {\n"
      "    x = all_reduce(\"B M {U_t} -> B M {I_t}\",\n"
      "        index_unreduced(\"[W/t] M, B -> B M {U_t}\", e, ids))\n"
      "    return sum(\"B M {I_t} -> {I_t}\", x * x)\n}\n"
      "plan p implements f(e: f32[W/t M], ids: i32[B]) -> (e1: f32[W/t M]) {\n"
      "    _l, g = value_and_grad(loss_t wrt e)(e, ids)\n    return e - g\n}\n";
  EXPECT_EQ(assumed(text), (Texts{"|V| <= |W|", "0 <= ids < |V|"}));
}

}  // namespace
}  // namespace shardproof
