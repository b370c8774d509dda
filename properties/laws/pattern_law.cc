// One reading of patterns: what the algebra proves of an op with aliases, groups, opened groups and
// renames is what the denotation and the oracle say of it (the second leg of the proof), and what
// ranks compute. What is not allowed is refused. 1,000 programs; with SHARDPROOF_FULL 50,000.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "properties/generators/plan_run.h"
#include "properties/patterns/one_op.h"
#include "spec/check/mesh_points.h"

namespace shardproof {
namespace {

/// Runs the only plan on ranks; empty where they give what its model gives.
std::string first_difference(const Program& program, const PlanReport& report, unsigned seed) {
  properties::PlanCase one = properties::case_of(program, report);
  const auto wanted = properties::draw(one, all_conditions(program.checked()), seed, false);
  if (!wanted) return "";
  const properties::RoundingBounds bounds = properties::rounding_bounds(one, *wanted);
  const std::string found = properties::difference(
      properties::run_on_ranks(one, {.precision = Precision::f64}), *wanted, bounds.f64);
  return found.empty() ? "" : properties::text(one) + ", " + found;
}

TEST(Patterns, AreReadAlikeByAll) {
  const uint64_t programs = std::getenv("SHARDPROOF_FULL") ? 50000 : 1000;
  std::map<std::string, int> tally;
  for (uint64_t seed = 0; seed < programs; ++seed) {
    const std::string text = patterns::one_op(seed);
    SCOPED_TRACE(text);
    const Program program = Program::from_text(text);
    if (program.checked().plans().empty()) {
      ++tally["not read"];
      continue;
    }
    const PlanReport& report = program.checked().plans().back();
    ++tally[to_string(report.verdict)];
    for (const Diagnostic& each : report.diagnostics)
      EXPECT_TRUE(each.code != "U0009" && each.code.substr(0, 3) != "E04") << each.message;
    if (report.verdict != Verdict::proved) continue;
    try {
      EXPECT_EQ(first_difference(program, report, static_cast<unsigned>(seed)), "");
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  for (const auto& [verdict, count] : tally) printf("%-10s %d\n", verdict.c_str(), count);
  EXPECT_GE(tally["proved"] * 2, static_cast<int>(programs));
}

}  // namespace
}  // namespace shardproof
