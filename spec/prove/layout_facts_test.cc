#include "spec/prove/layout_facts.h"

#include <gtest/gtest.h>

#include "spec/prove/smt.h"

namespace shardproof {
namespace {

using smt::Result;

Split split(std::vector<Name> dim, std::vector<Axis> axes) { return {Dim{dim}, axes}; }

/// All obligations hold, and the solver decided them.
void expect_proved(const std::vector<smt::Obligation>& obligations, size_t count) {
  smt::Solver solver;
  EXPECT_EQ(obligations.size(), count);
  for (const smt::Obligation& each : obligations) {
    const smt::Answer answer = solver.prove(each);
    EXPECT_EQ(answer.result, Result::proved) << each.claim << ": " << answer.why;
    for (const smt::Term& assumption : each.assumptions)
      EXPECT_EQ(holds(assumption, each.example), true) << each.claim << to_smtlib(assumption);
  }
}

/// The counterexample has numbers, and they break the claim.
void expect_refuted(const smt::Obligation& obligation) {
  smt::Solver solver;
  const smt::Answer answer = solver.prove(obligation);
  ASSERT_EQ(answer.result, Result::refuted) << obligation.claim;
  EXPECT_FALSE(answer.model.empty());
  for (const smt::Term& formula : asserted(obligation))
    EXPECT_EQ(holds(formula, answer.model), true);
}

TEST(Layout, EverySplitHoldsEachEntryOnce) {
  expect_proved(split_obligations(split({"M"}, {"t"})), 2);
  expect_proved(split_obligations(split({"M"}, {"t", "d"})), 2);
  expect_proved(split_obligations(split({"M"}, {"t", "d", "e"})), 2);
  expect_proved(split_obligations(split({"K", "D"}, {"t", "d"})), 3);
  expect_proved(split_obligations(split({"M"}, {})), 0);
}

TEST(Layout, TwoDigitsWithoutTheirBoundAreNotInjective) {
  smt::Obligation broken = split_obligations(split({"M"}, {"t", "d"}))[0];
  std::erase_if(broken.assumptions, [](const smt::Term& term) {
    return term.op() == smt::Term::Op::lt && to_smtlib(term) == "(< d.i d)";
  });
  expect_refuted(broken);
}

TEST(Layout, GathersOfTheLastAxes) {
  expect_proved(move_obligations("all_gather", split({"M"}, {"t", "d"}), split({"M"}, {"t"})), 1);
  expect_proved(move_obligations("all_gather", split({"M"}, {"t", "d"}), split({"M"}, {})), 1);
  expect_proved(move_obligations("zero_pad", split({"M"}, {"t", "d", "e"}), split({"M"}, {"t"})),
                1);
  expect_proved(move_obligations("psum_scatter", split({"M"}, {"t"}), split({"M"}, {"t", "d"})), 1);
  expect_proved(move_obligations("slice", split({"M"}, {}), split({"M"}, {"t", "d"})), 1);
}

TEST(Layout, AllToAllIsAGatherAndASlice) {
  expect_proved(move_obligations("all_to_all", split({"D"}, {"a", "b"}), split({"D"}, {"a"})), 1);
  expect_proved(move_obligations("all_to_all", split({"E"}, {"c"}), split({"E"}, {"c", "b"})), 1);
}

TEST(Layout, GatheringTheFirstAxisIsRefuted) {
  const auto first = move_obligations("all_gather", split({"M"}, {"t", "d"}), split({"M"}, {"d"}));
  ASSERT_EQ(first.size(), 1u);
  expect_refuted(first[0]);
  expect_refuted(move_obligations("slice", split({"M"}, {"d"}), split({"M"}, {"t", "d"})).at(0));
}

TEST(Layout, AnotherOrderOfAxesIsRefuted) {
  const auto moves =
      move_obligations("all_gather", split({"M"}, {"t", "d"}), split({"M"}, {"d", "t"}));
  ASSERT_FALSE(moves.empty());
  expect_refuted(moves[0]);
}

TEST(Layout, RotationsAreRolls) {
  expect_proved({rotation_obligation(split({"L"}, {"c"}))}, 1);
  expect_proved({rotation_obligation(split({"L"}, {"c", "t"}))}, 1);
}

TEST(Layout, GroupsAreRowMajor) {
  const Split group = split({"K", "D"}, {"t"});
  expect_proved({rearrange_obligation(group, {split({"K"}, {"t"}), split({"D"}, {})})}, 1);
  // K D/t -> (K D)/t would move data between devices.
  expect_refuted(rearrange_obligation(group, {split({"K"}, {}), split({"D"}, {"t"})}));
  // (K D) as if D were major.
  smt::Obligation swapped =
      rearrange_obligation(split({"K", "D"}, {}), {split({"D"}, {}), split({"K"}, {})});
  const auto straight =
      rearrange_obligation(split({"K", "D"}, {}), {split({"K"}, {}), split({"D"}, {})});
  swapped.goal = equal(swapped.goal.args()[0], straight.goal.args()[1]);
  expect_refuted(swapped);
}

TEST(Layout, LlamasFactsTakeMilliseconds) {
  smt::Solver solver;
  for (const char* dim : {"M", "F", "B", "V", "K"})
    for (const auto& axes : {std::vector<Axis>{"t"}, {"d"}, {"t", "d"}})
      for (const auto& each : split_obligations(split({dim}, axes)))
        EXPECT_EQ(solver.prove(each).result, Result::proved);
  EXPECT_LT(solver.seconds(), 0.15);
  EXPECT_EQ(solver.cache_hits(), 26u);
}

}  // namespace
}  // namespace shardproof
