// A proof needs a run: what the rules or the algebra get wrong is seen by the devices beside the
// oracle, and what cannot be run is not proved.
#include "spec/check/second_leg.h"

#include <gtest/gtest.h>

#include "spec/check/last_answer.h"
#include "spec/check/unchecked.h"

namespace shardproof {
namespace second_leg_test {

/// What the user is told, where the first leg proves everything or as it is.
std::string told_of(const std::string& text, bool believing) {
  std::optional<BelievesEverything> believes;
  if (believing) believes.emplace();
  return last_answer(text);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

const char* const layer = R"(
mesh t d
dim B D H
fn layer(x: f32[B D], a: f32[D H]) -> f32[B D] {
    h = einsum("B D, D H -> B H", x, a)
    return x + einsum("B H, D H -> B D", silu(h), a)
}
plan forward implements layer(x: f32[B/d D], a: f32[D H/t]) -> f32[B/d D] {
    h = save(einsum("B/d D, D H/t -> B/d H/t", x, a))
    return x + all_reduce("B/d D {U_t} -> B/d D", einsum("B/d H/t, D H/t -> B/d D {U_t}", silu(h), a))
}
)";

/// `from` written `to` is wrong: it is not proved, and where the first leg believes it, a run sees
/// it.
void expect_seen(const std::string& text, const std::string& from, const std::string& to) {
  const std::string wrong = replaced(text, from, to);
  EXPECT_NE(told_of(wrong, false), "proved") << to;
  EXPECT_EQ(told_of(wrong, true), "U0009") << to;
}

TEST(SecondLeg, AgreesWithWhatIsRight) {
  EXPECT_EQ(told_of(layer, false), "proved");
  EXPECT_EQ(told_of(layer, true), "proved");
}

TEST(SecondLeg, SeesAWrongValue) {
  expect_seen(layer, "x + all_reduce", "x - all_reduce");
  expect_seen(layer, "silu(h), a))\n}", "relu(h), a))\n}");
}

TEST(SecondLeg, SeesAWrongType) {
  expect_seen(
      layer,
      "all_reduce(\"B/d D {U_t} -> B/d D\", einsum(\"B/d H/t, D H/t -> B/d D {U_t}\", silu(h), a))",
      "einsum(\"B/d H/t, D H/t -> B/d D {U_t}\", silu(h), a)");
}

const char* const mean = R"(
mesh t
dim B
dim D = 4096
fn mean_of(x: f32[B D]) -> f32[B] { return sum("B D -> B", x) / |D| }
plan parts implements mean_of(x: f32[B D/t]) -> f32[B] {
    return all_reduce("B {U_t} -> B", sum("B D/t -> B {U_t}", x)) / 4096
}
)";

TEST(SecondLeg, KeepsASizeThatIsWrittenAsANumber) {
  EXPECT_EQ(told_of(mean, false), "proved");
  expect_seen(mean, "/ 4096", "/ 4095");
}

TEST(SecondLeg, MakesLargeSizesSmallWhereNothingReadsThem) {
  const std::string read = replaced(replaced(mean, "= 4096", "= 4000000000000"), "/ 4096", "/ |D|");
  EXPECT_EQ(told_of(read, false), "proved");
  const std::string sums = replaced(replaced(read, "x) / |D|", "x)"), "x)) / |D|", "x))");
  EXPECT_EQ(told_of(sums, false), "proved");
  expect_seen(sums, "{U_t}\", x))", "{U_t}\", x)) * 2");
}

/// A model that has a value for small numbers alone is run there.
TEST(SecondLeg, RunsWithSmallNumbersWhereOthersHaveNoValue) {
  const char* const near_zero = R"(
mesh d t
dim A B
fn near_zero(x: f32[A B]) -> f32[A] { return sum("A B -> A", x) + sqrt(0.01 - sum("A B -> A", x * x)) }
plan parts implements near_zero(x: f32[A/d B/t]) -> f32[A/d] {
    s = all_reduce("A/d {U_t} -> A/d", sum("A/d B/t -> A/d {U_t}", x))
    q = all_reduce("A/d {U_t} -> A/d", sum("A/d B/t -> A/d {U_t}", x * x))
    return s + sqrt(0.01 - q)
}
)";
  EXPECT_EQ(told_of(near_zero, false), "proved");
  expect_seen(near_zero, "0.01 - q)", "0.02 - q)");
  expect_seen(near_zero, "B/t -> A/d {U_t}\", x * x)", "B/t -> A/d {U_t}\", x + x)");
  expect_seen(near_zero, "return s +", "return s -");
}

TEST(SecondLeg, SaysThatThereIsNoRun) {
  const std::string large =
      replaced(replaced(mean, "dim D = 4096", "dim D = 4000000000"), "/ 4096", "/ 4000000000");
  EXPECT_EQ(told_of(large, false), "U0010");
  EXPECT_EQ(told_of(replaced(layer, "dim B D H", "dim B D H\nrequire |H| > 1000000000"), false),
            "U0010");
}

TEST(SecondLeg, RunsATrustedPlanAsItsModel) {
  const std::string calls = R"(
mesh t
dim M
fn f(x: f32[M]) -> f32[M] { return silu(x) }
trusted "a kernel" plan fused implements f(x: f32[M/t]) -> f32[M/t]
fn g(x: f32[M]) -> f32[M] { return f(x) * 2 }
plan twice implements g(x: f32[M/t]) -> f32[M/t] { return fused(x) * 2 }
)";
  EXPECT_EQ(told_of(calls, false), "proved");
  expect_seen(calls, "fused(x) * 2", "fused(x) * 3");
}

const char* const step = R"(
mesh d
dim B D
fn loss(w: f32[D], x: f32[B D]) -> f32[] { return sum("B -> ", silu(einsum("B D, D -> B", x, w))) }
fn train(w: f32[D], x: f32[B D]) -> (w2: f32[D], l: f32[]) {
    l, g = value_and_grad(loss wrt w)(w, x)
    return w - 0.5 * g, l
}
plan loss_d implements loss(w: f32[D], x: f32[B/d D]) -> f32[]{U_d} {
    return sum("B/d -> {U_d}", silu(einsum("B/d D, D -> B/d", x, w)))
}
plan train_d implements train(w: f32[D], x: f32[B/d D]) -> (w2: f32[D], l: f32[]) {
    l, g = value_and_grad(loss_d wrt w)(w, x)
    return w - 0.5 * all_reduce("D {U_d} -> D", g), all_reduce("{U_d} -> ", l)
}
)";

TEST(SecondLeg, RunsAStepByItsDerivedBackward) {
  EXPECT_EQ(told_of(step, false), "proved");
  expect_seen(step, "w - 0.5 * all_reduce", "w + 0.5 * all_reduce");
}

}  // namespace second_leg_test
}  // namespace shardproof
