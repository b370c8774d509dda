#include "spec/prove/size_conditions.h"

#include <gtest/gtest.h>

namespace shardproof {
namespace {

using ir::Arith;

Arith number(int64_t value) {
  return {Arith::Kind::number, std::to_string(value), ir::no_value, {}};
}
Arith dim(const Name& name) { return {Arith::Kind::size, name, ir::no_value, {}}; }
Arith axis(const Name& name) { return {Arith::Kind::axis, name, ir::no_value, {}}; }
Arith op(const std::string& text, Arith a, Arith b) {
  return {Arith::Kind::op, text, ir::no_value, {std::move(a), std::move(b)}};
}

struct File {
  ir::Program program;
  explicit File(const std::vector<Axis>& axes, const std::vector<Name>& dims) {
    for (const Axis& each : axes) program.axes[each];
    for (const Name& each : dims) program.dims[each];
  }
  File& sized(const Name& name, Arith size) {
    program.dims[name].kind = ir::DimInfo::Kind::sized;
    program.dims[name].size = std::move(size);
    return *this;
  }
  File& require(Arith condition) {
    program.requirements.push_back(
        {std::move(condition), {0, static_cast<uint32_t>(program.requirements.size()), 0}});
    return *this;
  }
};

Divisibility divides(std::vector<Axis> axes, const Name& name) {
  return {std::move(axes), Dim{{name}}};
}

std::vector<std::string> reduced(const ir::Program& program, std::vector<Divisibility> conditions) {
  smt::Solver solver;
  std::vector<smt::Obligation> proofs;
  const size_t before = conditions.size();
  std::vector<std::string> texts;
  for (const auto& each : reduce_by_implication(program, std::move(conditions), solver, &proofs))
    texts.push_back(to_string(each));
  EXPECT_EQ(proofs.size(), before - texts.size());
  for (const smt::Obligation& proof : proofs)
    EXPECT_EQ(solver.prove(proof).result, smt::Result::proved);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(SizeConditions, AFactorFollowsFromAProduct) {
  File file({"d", "t"}, {"M", "B"});
  EXPECT_EQ(reduced(file.program, {divides({"t"}, "M"), divides({"d", "t"}, "M"),
                                   divides({"d"}, "B"), divides({"d"}, "M")}),
            (Texts{"d*t | M", "d | B"}));
  // Two axes do not give their product.
  EXPECT_EQ(reduced(file.program, {divides({"t"}, "M"), divides({"d"}, "M")}),
            (Texts{"t | M", "d | M"}));
}

TEST(SizeConditions, OfASizedDimFollowFromItsSize) {
  File file({"t"}, {"M"});
  file.sized("F", op("*", number(4), dim("M")));
  EXPECT_EQ(reduced(file.program, {divides({"t"}, "F"), divides({"t"}, "M")}), Texts{"t | M"});
  EXPECT_EQ(reduced(file.program, {divides({"t"}, "F")}), Texts{"t | F"});
  file.sized("G", op("/", dim("M"), number(2)));
  EXPECT_EQ(reduced(file.program, {divides({"t"}, "G"), divides({"t"}, "M")}), Texts{"t | G"});
}

// 0.9999999 is not 1: t divides N, and M is another size.
TEST(SizeConditions, ReadDecimalsExactly) {
  File file({"t"}, {"M", "N"});
  const Arith nearly{Arith::Kind::number, "0.9999999", ir::no_value, {}};
  file.require(op("==", dim("M"), op("*", nearly, dim("N"))));
  EXPECT_EQ(reduced(file.program, {divides({"t"}, "N"), divides({"t"}, "M")}),
            (Texts{"t | N", "t | M"}));
}

TEST(SizeConditions, OfKnownSizesHold) {
  File file({"t", "d"}, {});
  file.program.axes["t"].size = 4;
  file.sized("M", number(4096));
  EXPECT_EQ(reduced(file.program, {divides({"t"}, "M"), divides({"d"}, "M")}), Texts{"d | M"});
}

TEST(SizeConditions, FollowFromRequirements) {
  File file({"t", "d"}, {"K", "M"});
  file.require(op("==", op("%", dim("K"), axis("t")), number(0)))
      .require(op("==", dim("M"), op("*", axis("d"), dim("K"))));
  EXPECT_EQ(reduced(file.program, {divides({"t"}, "K"), divides({"d", "t"}, "M")}), Texts{});
  EXPECT_EQ(reduced(file.program, {divides({"d"}, "K")}), Texts{"d | K"});
}

TEST(SizeConditions, WhatIsLeftIsIndependent) {
  File file({"d", "t"}, {"M", "B", "L"});
  file.sized("F", op("*", number(4), dim("M"))).require(op("<=", dim("L"), dim("B")));
  const auto found = independent(file.program, {divides({"d", "t"}, "M"), divides({"d"}, "B")});
  ASSERT_EQ(found.size(), 2u);
  ASSERT_TRUE(found[0].sizes && found[1].sizes);
  EXPECT_EQ(to_string(*found[0].sizes), "B=2 L=1 M=1 d=2 t=2");
  EXPECT_EQ(to_string(*found[1].sizes), "B=1 L=1 M=4 d=2 t=2");
  // One that follows has no such sizes.
  const auto none = independent(file.program, {divides({"t"}, "M"), divides({"t"}, "F")});
  EXPECT_FALSE(none[1].sizes);
}

TEST(SizeConditions, TheSmallestSizes) {
  File file({"d", "t"}, {"M", "K"});
  file.require(op(">=", dim("K"), op("+", axis("t"), number(5))));
  const auto sizes = smallest_sizes(file.program, {divides({"d", "t"}, "M"), divides({"d"}, "K")});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(to_string(*sizes), "K=8 M=4 d=2 t=2");
}

TEST(Assumptions, CanHold) {
  File file({"t"}, {"K"});
  file.require(op(">=", dim("K"), axis("t")));
  smt::Solver solver;
  const Assumptions found = check_assumptions(file.program, {divides({"t"}, "K")}, solver);
  EXPECT_EQ(found.kind, Assumptions::Kind::satisfiable);
  EXPECT_EQ(solver.prove(found.obligation).result, smt::Result::proved);
  EXPECT_TRUE(to_smtlib(found.obligation).starts_with("; expect: sat\n"));
}

TEST(Assumptions, ThatContradictAreSaidInWords) {
  File file({"t", "d"}, {"K", "M"});
  file.require(op("<=", axis("d"), dim("M"))).require(op("<", dim("K"), axis("t")));
  smt::Solver solver;
  const Assumptions found =
      check_assumptions(file.program, {divides({"t"}, "K"), divides({"d"}, "M")}, solver);
  ASSERT_EQ(found.kind, Assumptions::Kind::contradictory);
  EXPECT_EQ(found.diagnostic->code, "E0111");
  EXPECT_EQ(found.diagnostic->range.begin, 1u);  // the second require
  EXPECT_EQ(found.diagnostic->details.at(0), "require |K| < |t|");
  EXPECT_EQ(found.diagnostic->details.at(1), "t | K");
}

TEST(Assumptions, TwoRequiresContradict) {
  File file({"t"}, {"K"});
  file.require(op("==", op("%", dim("K"), number(2)), number(0)))
      .require(op("==", op("%", dim("K"), number(4)), number(3)));
  smt::Solver solver;
  EXPECT_EQ(check_assumptions(file.program, {}, solver).kind, Assumptions::Kind::contradictory);
}

TEST(Assumptions, LargeSizesAreFound) {
  File file({"t"}, {"K"});
  file.require(op(">", dim("K"), number(1000000)));
  smt::Solver solver;
  EXPECT_EQ(check_assumptions(file.program, {divides({"t"}, "K")}, solver).kind,
            Assumptions::Kind::satisfiable);
}

TEST(Assumptions, AnEndedBudgetIsUnknown) {
  File file({"t"}, {"K", "L", "M"});
  const auto cube = [](const Name& name) {
    return op("*", dim(name), op("*", dim(name), dim(name)));
  };
  file.require(op("==", op("+", cube("K"), cube("L")), cube("M")));
  smt::Solver solver({.milliseconds = 100, .resources = 1000});
  EXPECT_EQ(check_assumptions(file.program, {}, solver).kind, Assumptions::Kind::unknown);
}

}  // namespace
}  // namespace shardproof
