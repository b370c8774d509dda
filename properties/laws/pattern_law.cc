// One reading of patterns: what the algebra proves of an op with aliases, groups, opened groups and
// renames is what the denotation and the oracle say of it (the second leg of the proof), and what
// ranks compute. What is not allowed is refused. 1,000 programs; with SHARDPROOF_FULL 50,000.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

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
  EXPECT_GE(tally["proved"] * 20, static_cast<int>(programs) * 19);
}

/// Tensors of small whole numbers, which may be ids too.
std::vector<oracle::Tensor> small_numbers(const ir::Program& program, const ir::Function& f,
                                          const oracle::Sizes& sizes, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<oracle::Tensor> inputs;
  for (ir::ValueId id : f.params) {
    const Type& type = f.values.at(id).type;
    oracle::Tensor tensor;
    tensor.shape = oracle::shape_of(program, type, sizes);
    const int most = is_float(type.dtype) ? 50 : 2;
    for (int64_t i = 0; i < oracle::count(tensor.shape); ++i)
      tensor.data.push_back(static_cast<double>(rng() % static_cast<unsigned>(most)));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// What fn f makes of them, entry by entry in the order of memory.
std::vector<double> entries(const Program& program, unsigned seed) {
  const oracle::Sizes sizes{{{"B", 2}, {"K", 2}, {"D", 3}, {"C", 3}, {"J", 2}, {"L", 3}}, {}};
  const ir::Program& ir = program.checked().program();
  const auto at = std::find_if(ir.functions.begin(), ir.functions.end(),
                               [](const ir::Function& each) { return each.name == "f"; });
  const auto f = static_cast<size_t>(at - ir.functions.begin());
  return oracle::evaluate(ir, f, sizes, small_numbers(ir, *at, sizes, seed)).at(0).data;
}

bool is_proved(const Program& program) {
  return !program.checked().plans().empty() && program.checked().verdict() == Verdict::proved;
}

// Rearranges that open or merge groups around an op are put in before the oracle reads it. Here
// they are held to the program that has none: the same entries lie in the same order.
TEST(Patterns, AGroupIsItsFactors) {
  size_t compared = 0;
  for (uint64_t seed = 0; seed < (std::getenv("SHARDPROOF_FULL") ? 20000 : 2000); ++seed) {
    const std::string text = patterns::one_op(seed), opened = patterns::one_op(seed, true);
    if (opened.empty() || text == opened) continue;
    const Program one = Program::from_text(text), other = Program::from_text(opened);
    if (!is_proved(one) || !is_proved(other)) continue;
    ++compared;
    EXPECT_EQ(entries(one, static_cast<unsigned>(seed)),
              entries(other, static_cast<unsigned>(seed)))
        << text << opened;
  }
  EXPECT_GE(compared, 400u);
}

}  // namespace
}  // namespace shardproof
