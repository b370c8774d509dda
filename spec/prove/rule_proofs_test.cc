#include "spec/prove/rule_proofs.h"

#include <gtest/gtest.h>

#include <iostream>
#include <set>

namespace shardproof {
namespace {

TEST(Rules, AreProvedAgainstTheDenotation) {
  const std::vector<RuleTuple>& table = rule_table();
  smt::Solver solver(
      {.milliseconds = 60000});  // bounded by resources: a loaded machine changes nothing
  std::set<std::string> ops;
  size_t refused = 0;
  for (const RuleTuple& tuple : table) ops.insert(tuple.base.op);
  std::cout << "rule            how  accepted:proved  refused:model  gradient:argument  "
               "stricter:argument  no value\n";
  for (const std::string& op : ops) {
    const RuleOutcome outcome = check_rule(table, op, solver);
    std::printf("%-15s Z3   %15zu  %13zu  %17zu  %17zu  %8zu\n", op.c_str(), outcome.proved,
                outcome.refuted, outcome.gradient, outcome.stricter, outcome.meaningless);
    for (const std::string& failure : outcome.failures) ADD_FAILURE() << failure;
    EXPECT_GT(outcome.proved, 0u) << op;
    refused += outcome.refuted + outcome.meaningless;
  }
  EXPECT_GT(refused, 200u);
  std::printf("%zu tuples, %zu questions, %.2f s in the solver\n", table.size(), solver.questions(),
              solver.seconds());
}

RuleCase collective(ir::CollectiveFn fn, const Type& from, const Type& to) {
  ir::Pattern pattern;
  pattern.left = {from};
  pattern.right = to;
  return {"collective", elaborated(ir::Collective{fn, pattern}, {from}), {from}, to};
}

TEST(Rules, HoldOnThreeDevicesToo) {
  smt::Solver solver(
      {.milliseconds = 60000});  // bounded by resources: a loaded machine changes nothing
  Type split, whole, summands;
  split.dims = {{Dim{{"M"}}, {"t"}}};
  summands.dims = whole.dims = {{Dim{{"M"}}, {}}};
  summands.marks["t"] = Mark::U;
  using enum ir::CollectiveFn;
  for (const RuleCase& rule :
       {collective(all_gather, split, whole), collective(psum_scatter, summands, split),
        collective(all_reduce, summands, whole), collective(zero_pad, split, summands)})
    EXPECT_EQ(solver.prove(rule_obligation(rule, 3)).result, smt::Result::proved) << rule.text();
}

TEST(Rules, AWrongRuleIsRefuted) {
  // relu-like functions of a sum of summands: exp(a + b) is not exp(a) + exp(b).
  Type summands;
  summands.dims = {{Dim{{"M"}}, {}}};
  summands.marks["t"] = Mark::U;
  const RuleCase wrong{"exp", ir::Unary{ir::UnaryFn::exp}, {summands}, summands};
  smt::Solver solver(
      {.milliseconds = 60000});  // bounded by resources: a loaded machine changes nothing
  EXPECT_EQ(solver.prove(rule_obligation(wrong, 2)).result, smt::Result::refuted);
}

}  // namespace
}  // namespace shardproof
