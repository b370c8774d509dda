// One reading of patterns: what the algebra proves of an op with aliases, groups, opened groups and
// renames is what the denotation and the oracle say of it (the second leg of the proof), and what
// ranks compute. What is not allowed is refused. 1,000 programs; with SHARDPROOF_FULL 50,000.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "properties/generators/plan_run.h"
#include "properties/patterns/one_op.h"
#include "spec/check/mesh_points.h"
#include "spec/laws/holds.h"

namespace shardproof {
namespace {

struct OneOp {
  std::string text, opened;
};
/// What RapidCheck prints of the smallest failure.
void showValue(const OneOp& drawn, std::ostream& out) {
  out << "\n" << drawn.text;
  if (!drawn.opened.empty()) out << "opened:\n" << drawn.opened;
}
/// `opened`: also with every group opened, where that is another text.
rc::Gen<OneOp> drawn_ops(bool opened) {
  return rc::gen::map(laws::dice_words(100), [=](std::vector<uint64_t> words) {
    const laws::Dice dice(std::move(words));
    OneOp drawn{patterns::one_op(dice), opened ? patterns::one_op(dice, true) : ""};
    if (drawn.opened == drawn.text) drawn.opened.clear();
    return drawn;
  });
}

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
  std::map<std::string, int> tally;
  int programs = 0;
  EXPECT_TRUE(laws::holds("patterns are read alike by all", 1'000, 50'000, [&] {
    const Program program = Program::from_text((*drawn_ops(false)).text);
    const auto seed = static_cast<unsigned>(*laws::below(1 << 20));
    ++programs;
    if (program.checked().plans().empty()) {
      ++tally["not read"];
      return;
    }
    const PlanReport& report = program.checked().plans().back();
    ++tally[to_string(report.verdict)];
    for (const Diagnostic& each : report.diagnostics)
      if (each.code == "U0009" || each.code.starts_with("E04"))
        RC_FAIL(each.code + ": " + each.message);
    if (report.verdict != Verdict::proved) return;
    const std::string found = first_difference(program, report, seed);
    if (!found.empty()) RC_FAIL(found);
  }));
  for (const auto& [verdict, count] : tally) printf("%-10s %d\n", verdict.c_str(), count);
  EXPECT_GE(tally["proved"] * 25, programs * 23);  // 95.3 % of 50,000
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
  EXPECT_TRUE(laws::holds("a group is its factors", 2'000, 20'000, [&] {
    const OneOp drawn = *drawn_ops(true);
    if (drawn.opened.empty()) return;
    const auto seed = static_cast<unsigned>(*laws::below(1 << 20));
    const Program one = Program::from_text(drawn.text), other = Program::from_text(drawn.opened);
    if (!is_proved(one) || !is_proved(other)) return;
    ++compared;
    RC_ASSERT(entries(one, seed) == entries(other, seed));
  }));
  EXPECT_GE(compared, 400u);
}

}  // namespace
}  // namespace shardproof
