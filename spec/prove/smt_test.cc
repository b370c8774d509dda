#include "spec/prove/smt.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace shardproof::smt {
namespace {

Obligation claim(std::vector<Term> assumptions, Term goal) {
  return {"test", Kind::size, "a claim", std::move(assumptions), std::move(goal), false, {}};
}

TEST(Solver, ProvesWithAWitness) {
  const Term m = integer("M"), d = integer("d"), t = integer("t"), k = integer("k");
  Solver solver;
  const Term goal = exists("q", t * k, equal(m, d * integer("q")));
  EXPECT_EQ(solver.prove(claim({equal(m, d * t * k)}, goal)).result, Result::proved);
}

TEST(Solver, RefutesWithNumbersThatBreakTheClaim) {
  const Term m = integer("M"), d = integer("d"), k = integer("k"), q = integer("q");
  Solver solver;
  const Obligation wrong =
      claim({less_equal(2, d), less_equal(1, k), equal(m, d * k)}, equal(m, d));
  const Answer answer = solver.prove(wrong);
  ASSERT_EQ(answer.result, Result::refuted);
  for (const Term& formula : asserted(wrong)) EXPECT_EQ(holds(formula, answer.model), true);
}

TEST(Solver, ContradictoryAssumptionsProveNothing) {
  const Term x = integer("x");
  Solver solver;
  const Answer answer = solver.prove(claim({less(x, 0), less(0, x)}, equal(x, 5)));
  EXPECT_EQ(answer.result, Result::unknown);
  EXPECT_NE(answer.why.find("contradict"), std::string::npos);
}

// Fermat's equation for cubes: neither provable nor refutable here within the limits.
Obligation hard() {
  const Term x = integer("x"), y = integer("y"), z = integer("z");
  return claim({less_equal(1, x), less_equal(1, y), less_equal(1, z)},
               negate(equal(x * x * x + y * y * y, z * z * z)));
}

TEST(Solver, AnEndedBudgetIsUnknown) {
  Solver solver({.milliseconds = 200, .resources = 1000});
  EXPECT_EQ(solver.prove(hard()).result, Result::unknown);
}

TEST(Solver, ATimeoutIsUnknownAndKept) {
  Solver solver({.milliseconds = 50, .resources = 0});
  EXPECT_EQ(solver.prove(hard()).result, Result::unknown);
  EXPECT_LT(solver.seconds(), 5.0);
  // The solver is usable afterwards.
  EXPECT_EQ(solver.prove(claim({}, less(integer("x"), integer("x") + 1))).result, Result::proved);
}

/// Twice the square of four sums, under a function: Z3 4.8.12 hears no interrupt here, and grows.
Term unlike_squares() {
  const auto at = [](const char* name, int i) { return real(name + std::to_string(i % 4)); };
  const auto square = [&](const char* name) {
    Term sum = 0;
    for (int j = 0; j < 4; ++j) {
      Term inner = 0;
      for (int i = 0; i < 4; ++i) inner = inner + at("x", i) * at(name, i + j) * at("w", i * j + 1);
      sum = sum + at("u", j) * Term::apply("f", {inner});
    }
    return sum * sum;
  };
  return negate(equal(square("y"), square("w")));
}

size_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(Solver, ACheckThatIsLeftBehindEndsWhereItGrows) {
  Solver solver({.milliseconds = 200, .resources = 0, .growth = 0});
  const size_t before = threads();
  EXPECT_EQ(solver.satisfy({unlike_squares()}).kind, Satisfaction::Kind::unknown);
  EXPECT_GT(threads(), before);
  for (int tries = 0; tries < 600 && threads() > before; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(threads(), before);
  EXPECT_EQ(solver.prove(claim({}, less(integer("x"), integer("x") + 1))).result, Result::proved);
}

// Z3 4.8.12 computes with these roots of roots for minutes, and hears no interrupt after 0.1 s.
TEST(Solver, ACheckThatDoesNotStopIsLeftBehind) {
  const Term a = real("a"), b = real("b"), c = real("c"), d = real("d");
  Solver solver({.milliseconds = 800, .resources = 0});
  const Satisfaction found =
      solver.satisfy({equal(a * a * a, 2), equal(b * b * b, a + 3), equal(c * c * c, a + b + 5),
                      equal(d * d * d, a + b + c + 7), less_equal(a + b * b + 1, d * d)});
  EXPECT_EQ(found.kind, Satisfaction::Kind::unknown);
  EXPECT_LT(solver.seconds(), 5.0);
  EXPECT_EQ(solver.prove(claim({}, less(integer("x"), integer("x") + 1))).result, Result::proved);
}

TEST(Solver, EqualClaimsAreAskedOnce) {
  Solver solver;
  for (const char* name : {"M", "F", "B"})
    solver.prove(claim({less_equal(1, integer(name))}, less(0, integer(name))));
  EXPECT_EQ(solver.cache_hits(), 2u);
}

TEST(Solver, ACachedCounterexampleSpeaksOfTheNewNames) {
  Solver solver;
  for (const char* name : {"M", "F"}) {
    const Answer answer =
        solver.prove(claim({less_equal(1, integer(name))}, less(1, integer(name))));
    ASSERT_EQ(answer.result, Result::refuted);
    EXPECT_EQ(answer.model.at(name), (Fraction{1, 1}));
  }
}

TEST(Solver, TheCoreOfAContradiction) {
  Solver solver;
  const Term x = integer("x"), y = integer("y");
  const Satisfaction found = solver.satisfy({less(x, 0), less_equal(y, 7), less(0, x)});
  ASSERT_EQ(found.kind, Satisfaction::Kind::unsat);
  std::vector<size_t> core = found.core;
  std::sort(core.begin(), core.end());
  EXPECT_EQ(core, (std::vector<size_t>{0, 2}));
}

TEST(SmtLib, IsPlainText) {
  const Term m = integer("M"), x = real("x");
  const std::string text = to_smtlib(claim({less_equal(1, m)}, less(Term(0), m + m * m)));
  EXPECT_TRUE(text.starts_with("; size: a claim\n")) << text;
  EXPECT_NE(text.find("(set-logic QF_NIA)\n(declare-const M Int)\n(assert (<= 1 M))\n"
                      "(assert (not (< 0 (+ M (* M M)))))\n(check-sat)"),
            std::string::npos)
      << text;
  EXPECT_EQ(to_smtlib(equal(x, Term(-2))), "(= x (- 2.0))");
  EXPECT_EQ(to_smtlib(less(m, x)), "(< (to_real M) x)");
  EXPECT_EQ(to_smtlib(Term::number({-1, 2}) * x), "(* (- (/ 1.0 2.0)) x)");
}

TEST(SmtLib, SatisfiabilityIsSaidFirst) {
  Obligation obligation = claim({less_equal(1, integer("t"))}, Term::truth(true));
  obligation.satisfiable = true;
  EXPECT_TRUE(to_smtlib(obligation).starts_with("; expect: sat\n; size: "));
  Solver solver;
  EXPECT_EQ(solver.prove(obligation).result, Result::proved);
  obligation.assumptions.push_back(less(integer("t"), 1));
  EXPECT_EQ(solver.prove(obligation).result, Result::refuted);
}

}  // namespace
}  // namespace shardproof::smt
