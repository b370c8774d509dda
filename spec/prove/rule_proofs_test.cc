#include "spec/prove/rule_proofs.h"

#include <gtest/gtest.h>

#include <iostream>
#include <set>

namespace shardproof {
namespace {

TEST(Rules, AreProvedAgainstTheDenotation) {
  const std::vector<RuleTuple> table = rule_table();
  smt::Solver solver;
  std::set<std::string> ops;
  for (const RuleTuple& tuple : table) ops.insert(tuple.base.op);
  std::cout << "rule            how  accepted:proved  refused:model  gradient:argument  no value\n";
  for (const std::string& op : ops) {
    const RuleOutcome outcome = check_rule(table, op, solver);
    std::printf("%-15s Z3   %15zu  %13zu  %17zu  %8zu\n", op.c_str(), outcome.proved,
                outcome.refuted, outcome.gradient, outcome.meaningless);
    for (const std::string& failure : outcome.failures) ADD_FAILURE() << failure;
    EXPECT_GT(outcome.proved, 0u) << op;
    EXPECT_GT(outcome.refuted + outcome.meaningless, 0u) << op;
  }
  std::printf("%zu tuples, %zu questions, %.2f s in the solver\n", table.size(), solver.questions(),
              solver.seconds());
}

}  // namespace
}  // namespace shardproof
