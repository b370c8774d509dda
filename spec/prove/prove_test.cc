#include "spec/prove/prove.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace shardproof {
namespace {

CheckedProgram checked(const std::string& text) {
  Sources sources;
  CheckOptions options;
  options.fixes = false;
  const FileReader reader = [&](const std::string& path) -> std::optional<std::string> {
    return path == "test.shard" ? std::optional(text) : std::nullopt;
  };
  return check(sources, "test.shard", reader, options);
}

const char* const mlp = R"(mesh d t
dim B M
dim F = 4*|M|
fn mlp(x: f32[B M], a: f32[M F], b: f32[F M]) -> f32[B M] {
    return einsum("B F, F M -> B M", tanh(einsum("B M, M F -> B F", x, a)), b)
}
plan mlp_sharded implements mlp(x: f32[B/d M/t], a: f32[M F/t], b: f32[F/t M]) -> f32[B/d M/t] {
    gx = all_gather("B/d M/t -> B/d M", x)
    h  = tanh(einsum("B/d M, M F/t -> B/d F/t", gx, a))
    y  = einsum("B/d F/t, F/t M -> B/d M {U_t}", h, b)
    return psum_scatter("B/d M {U_t} -> B/d M/t", y)
}
)";

TEST(Prove, APlanKeepsItsVerdictAndLosesConditions) {
  CheckedProgram program = checked(mlp);
  ASSERT_EQ(program.verdict(), Verdict::proved);
  const ProofStatistics statistics = prove(program);
  EXPECT_EQ(program.verdict(), Verdict::proved);
  ASSERT_EQ(program.plans().size(), 1u);
  std::vector<std::string> conditions;
  for (const auto& each : program.plans()[0].conditions) conditions.push_back(to_string(each));
  EXPECT_EQ(conditions.size(), 2u);  // t | F follows from t | M
  EXPECT_EQ(statistics.plans[0].conditions_dropped, 1u);
  EXPECT_GT(statistics.plans[0].proved, 5u);
  EXPECT_EQ(to_string(statistics.plans[0].smallest.value()), "B=2 M=2 d=2 t=2");
}

TEST(Prove, AnEndedBudgetTakesTheVerdict) {
  CheckedProgram program = checked(mlp);
  prove(program, {.limits = {.milliseconds = 1000, .resources = 1}});
  EXPECT_EQ(program.plans()[0].verdict, Verdict::unknown);
  EXPECT_EQ(program.plans()[0].diagnostics.back().code, "U0003");
}

TEST(Prove, ContradictoryRequiresAreInvalid) {
  std::string text = mlp;
  text.insert(text.find("fn mlp"), "require |M| < |t|\n");
  CheckedProgram program = checked(text);
  prove(program);
  ASSERT_EQ(program.plans().size(), 1u);
  EXPECT_EQ(program.verdict(), Verdict::invalid);
  const Diagnostic& last = program.plans()[0].diagnostics.back();
  EXPECT_EQ(last.code, "E0111");
  EXPECT_EQ(text.substr(last.range.begin, 7).find("|M|") != std::string::npos ||
                text.substr(last.range.begin, 7) == "require",
            true);
}

TEST(Prove, WritesItsClaimsForAnySolver) {
  const CheckedProgram program = checked(mlp);
  const std::string dir = ::testing::TempDir() + "shardproof_smtlib";
  std::filesystem::create_directories(dir);
  std::map<std::string, int> kinds;
  for (const std::string& name : write_smtlib(program, dir)) {
    const std::string kind = name.substr(0, name.find('-'));
    ++kinds[kind];
    std::ifstream file(dir + "/" + name);
    std::string first;
    std::getline(file, first);
    EXPECT_TRUE(first.starts_with("; " + kind + ": ") || first == "; expect: sat") << first;
  }
  for (const char* kind : {"layout", "index", "size", "rule"}) EXPECT_GT(kinds[kind], 0) << kind;
}

TEST(Prove, LlamaTakesATenthOfASecond) {
  Sources sources;
  CheckOptions options;
  options.fixes = options.compare = false;
  CheckedProgram program =
      check(sources, SHARDPROOF_SOURCE_DIR "/spec/models/llama3.shard", disk_reader(), options);
  ASSERT_TRUE(program.readable());
  ASSERT_GT(program.plans().size(), 3u);
  for (const PlanReport& plan : program.plans())  // types alone are asked
    EXPECT_EQ(plan.verdict, Verdict::proved) << plan.name;
  const ProofStatistics statistics = prove(program);
  for (const PlanProof& plan : statistics.plans) {
    EXPECT_EQ(plan.refuted + plan.unknown, 0u) << plan.name;
    std::printf("%-24s %zu facts, %s\n", plan.name.c_str(), plan.proved,
                plan.smallest ? to_string(*plan.smallest).c_str() : "");
  }
  std::printf("%zu questions, %.3f s\n", statistics.questions, statistics.solver_seconds);
  EXPECT_LT(statistics.solver_seconds, 0.15);
}

}  // namespace
}  // namespace shardproof
