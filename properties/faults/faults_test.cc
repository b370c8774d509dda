// The generator: edits are planted and completed as said, judged by what they are, and a fault of
// the checker itself is found.
#include <gtest/gtest.h>

#include <algorithm>

#include "properties/faults/complete.h"
#include "properties/faults/families.h"
#include "properties/faults/tally.h"
#include "spec/resolve/dump.h"

namespace shardproof::faults {
namespace {

constexpr const char* header = "mesh d t\ndim B L M F N\ndim S T = L\n";

FileReader text(const std::string& body) {
  return [body](const std::string& path) -> std::optional<std::string> {
    if (path == "a.shard") return header + body;
    return std::nullopt;
  };
}

std::unique_ptr<Field> field(const std::string& body, Checker checker = {}) {
  auto result = Field::open("a.shard", false, std::move(checker), text(body));
  EXPECT_NE(result, nullptr);
  return result;
}

constexpr const char* ffn = R"(
fn f(x: f32[B M], w: f32[M F], v: f32[F M]) -> f32[B M] {
    h = relu(einsum("B M, M F -> B F", x, w))
    return x + 2 * einsum("B F, F M -> B M", h, v)
}
plan p implements f(x: f32[B/d M], w: f32[M/d F/t], v: f32[F/t M]) -> f32[B/d M] {
    g = all_gather("M/d F/t -> M F/t", w)
    h = relu(einsum("B/d M, M F/t -> B/d F/t", x, g))
    o = einsum("B/d F/t, F/t M -> B/d M {U_t}", h, v)
    return x + 2 * all_reduce("B/d M {U_t} -> B/d M", o)
}
)";

Faults of_family(const Ground& ground, Family family) {
  Faults faults = faults_of(ground);
  std::erase_if(faults, [&](const Fault& fault) { return fault.family != family; });
  return faults;
}

/// The first fault of the family whose text has `part`.
Fault fault(const Ground& ground, Family family, const std::string& part) {
  for (const Fault& each : of_family(ground, family))
    if (each.text.find(part) != std::string::npos) return each;
  ADD_FAILURE() << "no such fault: " << part;
  return {};
}

Judgement judged(const std::string& body, Family family, const std::string& part,
                 Checker checker = {}) {
  const auto of = field(body, std::move(checker));
  const Ground ground = of->ground(of->plans().at(0).plan);
  return of->judge(ground, fault(ground, family, part));
}

std::string completed(const std::string& body, Family family, const std::string& part) {
  const auto of = field(body);
  const Ground ground = of->ground(of->plans().at(0).plan);
  ir::Program program = of->program();
  program.functions.own()[ground.plan] = planted(ground.function, fault(ground, family, part));
  complete(program, program.functions.own()[ground.plan], ground.is_step);
  return dump(program, program.functions[ground.plan]);
}

TEST(Faults, AreJudgedByWhatTheyAre) {
  EXPECT_EQ(judged(ffn, Family::drop_collective, "all_gather").outcome, Outcome::downstream);
  EXPECT_EQ(judged(ffn, Family::drop_collective, "all_reduce").outcome, Outcome::downstream);
  EXPECT_EQ(judged(ffn, Family::duplicate_collective, "all_reduce").outcome, Outcome::at_edit);
  EXPECT_EQ(
      judged(ffn, Family::exchange_collective, "psum_scatter \"B/d M {U_t} -> B/d M/t").outcome,
      Outcome::downstream);
  EXPECT_EQ(judged(ffn, Family::stale_value, "x for the + ").outcome, Outcome::by_algebra);
  EXPECT_EQ(judged(ffn, Family::stale_value, "o for the + ").outcome, Outcome::at_signature);
  EXPECT_EQ(judged(ffn, Family::drop_summand, "x dropped").outcome, Outcome::by_algebra);
  EXPECT_EQ(judged(ffn, Family::drop_scale, "number").outcome, Outcome::by_algebra);
  EXPECT_EQ(judged(ffn, Family::axis_scale, " / |t|").outcome, Outcome::by_algebra);
}

TEST(Faults, LeaveThePlanAsItWas) {
  const auto of = field(ffn);
  const Ground ground = of->ground(of->plans().at(0).plan);
  const std::string before = dump(of->program(), ground.function);
  for (const Fault& each : faults_of(ground)) of->judge(ground, each);
  EXPECT_EQ(dump(of->program(), ground.function), before);
  EXPECT_EQ(of->judge(ground).outcome, Outcome::equal);
  EXPECT_EQ(of->judge(ground).meshes, 2);
}

/// Every family but totals and orders of axes has a place in these two plans.
TEST(Faults, AreOfEveryFamily) {
  const auto of = field(std::string(ffn) + R"(
fn g(x: f32[L M]) -> f32[L M] {
    s = einsum("S M, T M -> S T", x, x)
    m = where(iota("S T; T") <= iota("S T; S"), s, 0)
    y = einsum("S T, T M -> S M", m, x)
    return rearrange("S M -> L M", y) - 2 * x
}
plan q implements g(x: f32[L/d/t M]) -> f32[L/d/t M] {
    z = slice("L M -> L/d/t M", all_gather("L/d/t M -> L M", x))
    k = all_gather("L/d/t M -> L M", x)
    s = einsum("S/d/t M, T M -> S/d/t T", z, k)
    m = where(iota("S/d/t T; T") <= iota("S/d/t T; S"), s, 0)
    y = einsum("S/d/t T, T M -> S/d/t M", m, k)
    return rearrange("S/d/t M -> L/d/t M", y) - 2 * x
}
)");
  std::array<size_t, families> count{};
  for (const Planned& each : of->plans()) {
    const Ground ground = of->ground(each.plan);
    for (const Fault& fault : faults_of(ground)) ++count[static_cast<size_t>(fault.family)];
  }
  for (size_t i = 0; i < families; ++i)
    EXPECT_TRUE(count[i] > 0 || static_cast<Family>(i) == Family::total) << to_string(Family(i));
}

TEST(Completion, WritesWhatTheRulesGive) {
  const char* body = R"(
fn f(x: f32[B L M], v: f32[F M]) -> f32[B L F] { return einsum("B L M, F M -> B L F", x, v) }
plan p implements f(x: f32[B/d L M/t], v: f32[F M]) -> f32[B/d L F] {
    g = all_gather("B/d L M/t -> B/d L M", x)
    return einsum("B/d L M, F M -> B/d L F", g, v)
}
)";
  const std::string other =
      completed(body, Family::exchange_collective, "all_to_all \"B/d L M/t -> B/d L/t M\"");
  EXPECT_NE(other.find("einsum \"B/d L/t M, F M -> B/d L/t F\""), std::string::npos) << other;
}

TEST(Completion, GivesACreatedTensorTheAxesOfWhatItMeets) {
  const char* body = R"(
fn f(x: f32[L M]) -> f32[L M] { return where(iota("L M; L") == 1, x, 0) }
plan p implements f(x: f32[L/t M]) -> f32[L M] {
    g = all_gather("L/t M -> L M", x)
    return where(iota("L M; L") == 1, g, 0)
}
)";
  const std::string other = completed(body, Family::drop_collective, "all_gather");
  EXPECT_NE(other.find("iota L/t M"), std::string::npos) << other;
  EXPECT_EQ(judged(body, Family::drop_collective, "all_gather").outcome, Outcome::at_signature);
}

TEST(Completion, GivesACarryTheTypeThatItsBodyEndsWith) {
  const char* body = R"(
fn f(x: f32[N B M]) -> f32[B M] {
    s = scan n in N, a: f32[B M] = zeros(f32[B M]) { next a + x[n] }
    return s
}
plan p implements f(x: f32[N B M]{U_t}) -> f32[B M]{U_t} {
    s = scan n in N, a: f32[B M] = zeros(f32[B M]) {
        next a + all_reduce("B M {U_t} -> B M", x[n])
    }
    return zero_nonroot("B M -> B M {U_t}", s)
}
)";
  const std::string other = completed(body, Family::drop_collective, "all_reduce");
  EXPECT_NE(other.find("a: f32[B M]{U_t}"), std::string::npos) << other;
  EXPECT_EQ(judged(body, Family::drop_collective, "all_reduce").outcome, Outcome::downstream);
}

/// A checker to which everything that the rules accept is equal.
Checker believes_everything() {
  Checker checker;
  checker.compare = [](const ir::Program&, size_t, const std::vector<bool>&) {
    ComparedPlan compared;
    compared.verdict = Verdict::proved;
    return compared;
  };
  return checker;
}

/// A checker without the rules.
Checker refuses_nothing() {
  Checker checker;
  checker.type = [](const ir::Program& program, size_t plan, bool is_step) {
    Typing typing = type_plan(program, plan, is_step);
    typing.refused.clear();
    return typing;
  };
  return checker;
}

TEST(FaultsOfTheChecker, AreSurvivors) {
  for (const Checker& checker : {believes_everything(), refuses_nothing()}) {
    Tally tally;
    plant("a", "a.shard", {}, checker, tally, text(ffn));
    EXPECT_GT(tally.total().survived, 10u) << table(tally);
  }
  Tally right;
  plant("a", "a.shard", {}, {}, right, text(ffn));
  EXPECT_EQ(right.total().survived, 0u) << table(right);
  EXPECT_GT(right.total().made, 50u);
}

TEST(FaultsOfTheChecker, AreToldWithTheirPlace) {
  Tally tally;
  plant("a", "a.shard", {}, believes_everything(), tally, text(ffn));
  const auto found = std::find_if(tally.listed.begin(), tally.listed.end(), [](const Listed& each) {
    return each.text.find("x dropped from +") != std::string::npos;
  });
  ASSERT_NE(found, tally.listed.end());
  EXPECT_TRUE(found->survived);
  EXPECT_EQ(found->text.find("a.shard:13 p: drop a summand"), 0u) << found->text;
  EXPECT_NE(table(tally).find("SURVIVED: a.shard:13 p"), std::string::npos);
  EXPECT_NE(json(tally).find("\"class\": \"survived\""), std::string::npos);
}

}  // namespace
}  // namespace shardproof::faults
