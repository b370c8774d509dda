#include "spec/denote/counterexample.h"

#include <gmock/gmock.h>

#include "spec/denote/testing.h"
#include "spec/denote/trial.h"

namespace shardproof::denote {
namespace {

using ::testing::ElementsAre;
using testing::pattern;
using testing::type;

const ir::Program program = testing::program({"d", "t"});

Counterexample found(const ir::Op& op, const std::vector<Input>& operands,
                     const std::vector<Type>& stated = {}) {
  const auto example = find_counterexample(
      program, testing::elaborated(program, op, types_of(operands)), operands, stated);
  EXPECT_TRUE(example);
  return example.value_or(Counterexample{});
}

TEST(Counterexample, MaximumOfAnUnreducedValue) {
  const Counterexample e = found(ir::Binary{ir::BinaryFn::maximum},
                                 {{type("F {U_t}"), {}, "x"}, {type("", Dtype::number), 0.0}});
  EXPECT_EQ(e.mesh, "t=2");
  EXPECT_EQ(e.sizes, "F=1");
  EXPECT_THAT(e.lines, ElementsAre("x: device t=0 holds -1, t=1 holds 1: the value is 0",
                                   "maximum on each: 0 and 1, sum 1", "maximum of the values: 0"));
}

TEST(Counterexample, ExpOfAnUnreducedValue) {
  const Counterexample e = found(ir::Unary{ir::UnaryFn::exp}, {{type("{U_t}")}});
  EXPECT_THAT(e.lines,
              ElementsAre("device t=0 holds 0, t=1 holds -1: the value is -1",
                          "exp on each: 1 and 0.3679, sum 1.368", "exp of the value: 0.3679"));
}

TEST(Counterexample, SumOfUnreducedAndCopy) {
  const Counterexample e =
      found(ir::Binary{ir::BinaryFn::add}, {{type("M {U_t}"), {}, "x"}, {type("M"), {}, "y"}},
            {type("M {U_t}")});
  EXPECT_THAT(e.lines, ElementsAre("x: device t=0 holds 0, t=1 holds 0: the value is 0",
                                   "y: each device holds -1", "+ on each: -1 and -1, sum -2",
                                   "+ of the values: -1"));
}

TEST(Counterexample, ProductOfUnreducedValues) {
  const Counterexample e = found(ir::Binary{ir::BinaryFn::mul}, {{type("{U_t}")}, {type("{U_t}")}});
  EXPECT_EQ(e.lines.size(), 4u);
}

TEST(Counterexample, EinsumWithoutItsMark) {
  const Counterexample e = found(ir::Einsum{pattern("M/t, M/t -> "), {}},
                                 {{type("M/t"), {}, "x"}, {type("M/t"), {}, "w"}}, {type("")});
  EXPECT_EQ(e.sizes, "M=2");
  EXPECT_EQ(e.lines.back(), "einsum of the values: 1");
}

TEST(Counterexample, ReductionOfCopies) {
  const Counterexample e =
      found(ir::Collective{ir::CollectiveFn::all_reduce, pattern("M {U_t} -> M")}, {{type("M")}},
            {type("M")});
  EXPECT_THAT(e.lines, ElementsAre("each device holds -1", "all_reduce on each: -2 and -2",
                                   "the value, which all_reduce keeps: -1"));
}

TEST(Counterexample, NumbersOfEachDeviceBesideWhatTheyShouldBe) {
  const Counterexample copies =
      found(ir::Collective{ir::CollectiveFn::all_reduce, pattern("M {U_t} -> M")}, {{type("M")}},
            {type("M")});
  ASSERT_EQ(copies.values.size(), 2u);
  EXPECT_FALSE(copies.values[0].result);
  EXPECT_EQ(copies.values[0].held.size(), 2u);
  const HeldValue& reduced = copies.values[1];
  EXPECT_EQ(reduced.name, "all_reduce");
  EXPECT_TRUE(reduced.result);
  ASSERT_EQ(reduced.held.size(), 3u);
  for (int device : {0, 1}) {
    EXPECT_EQ(reduced.held[device].where, "t=" + std::to_string(device));
    EXPECT_THAT(reduced.held[device].numbers, ElementsAre(-2));
    EXPECT_THAT(reduced.held[device].expected, ElementsAre(-1));
  }
  EXPECT_EQ(reduced.held[2].where, "wanted");
  EXPECT_THAT(reduced.held[2].numbers, ElementsAre(-1));
}

TEST(Counterexample, AnUnreducedResultIsComparedAsASum) {
  const Counterexample e =
      found(ir::Binary{ir::BinaryFn::add}, {{type("M {U_t}"), {}, "x"}, {type("M"), {}, "y"}},
            {type("M {U_t}")});
  const HeldValue& sum = e.values.back();
  ASSERT_EQ(sum.held.size(), 4u);
  EXPECT_TRUE(sum.held[0].expected.empty());
  EXPECT_EQ(sum.held[2].where, "sum");
  EXPECT_THAT(sum.held[2].numbers, ElementsAre(-2));
  EXPECT_THAT(sum.held[2].expected, ElementsAre(-1));
}

TEST(Counterexample, AResultInPartsIsComparedPartByPart) {
  const Counterexample e = found(ir::Unary{ir::UnaryFn::exp}, {{type("M")}}, {type("M/t")});
  const HeldValue& parts = e.values.back();
  EXPECT_TRUE(parts.held[0].expected.empty()) << "all of it is no part";
  const Counterexample shifted =
      found(ir::Collective{ir::CollectiveFn::all_gather, pattern("M/t/d -> M/d")},
            {{type("M/t/d")}}, {type("M/d")});
  const HeldValue& gathered = shifted.values.back();
  ASSERT_EQ(gathered.held[0].numbers.size(), 2u);
  EXPECT_EQ(gathered.held[0].where, "t=0 d=0");
  EXPECT_EQ(gathered.held[0].expected.size(), 2u);
  bool wrong = false;
  for (const auto& held : gathered.held)
    wrong |= !held.expected.empty() && held.expected != held.numbers;
  EXPECT_TRUE(wrong);
}

TEST(Counterexample, GatherOfTheFirstAxis) {
  const Counterexample e =
      found(ir::Collective{ir::CollectiveFn::all_gather, pattern("M/t/d -> M/d")},
            {{type("M/t/d")}}, {type("M/d")});
  EXPECT_EQ(e.mesh, "t=2 d=2");
  EXPECT_EQ(e.sizes, "M=4");
}

TEST(Counterexample, IndexIntoASplitDim) {
  const Counterexample e =
      found(ir::Index{pattern("[V] M, B -> B M")},
            {{type("V/t M"), {}, "table"}, {type("B", Dtype::i32), {}, "ids"}});
  EXPECT_THAT(
      e.lines,
      ElementsAre("table: device t=0 holds 0, t=1 holds 1: the value is [[0], [1]]",
                  "ids: each device holds 0", "index on each: 0 and 1; copies that should be equal",
                  "index of the values: 0"));
}

TEST(Counterexample, SumStatedWhole) {
  found(ir::Reduce{ir::ReduceFn::sum, pattern("B M -> M"), {}}, {{type("B/d M")}}, {type("M")});
  found(ir::Argmax{pattern("B X -> B")}, {{type("B X/t")}});
  found(ir::Binary{ir::BinaryFn::div}, {{type("M")}, {type("M {U_t}")}});
  found(ir::Ordered{ir::OrderedFn::cumsum, pattern("L -> L"), 0}, {{type("L/t")}});
}

TEST(Counterexample, NoneForASoundOp) {
  EXPECT_FALSE(find_counterexample(program, ir::Binary{ir::BinaryFn::add},
                                   {{type("M {U_t}")}, {type("M {U_t}")}}, {type("M {U_t}")}));
  EXPECT_FALSE(find_counterexample(program, ir::Ring{}, {{type("M")}}, {}));
}

TEST(Counterexample, KnownSizesAreKeptWhereSmall) {
  ir::Program sized = program;
  sized.axes["t"].size = 8;
  sized.dims["M"].size = ir::Arith{ir::Arith::Kind::number, "4096", ir::no_value, {}};
  const auto e = find_counterexample(sized, ir::Unary{ir::UnaryFn::abs}, {{type("M {U_t}")}}, {});
  ASSERT_TRUE(e);
  EXPECT_EQ(e->mesh + ", " + e->sizes, "t=2, M=1");
}

TEST(AdjointCounterexample, ACopyTakenForI) {
  const auto e = find_adjoint_counterexample(program, ir::Binary{ir::BinaryFn::add},
                                             {{type("M {I_t}"), {}, "x"}, {type("M"), {}, "y"}},
                                             {type("M {I_t}")});
  ASSERT_TRUE(e);
  EXPECT_THAT(e->lines, ElementsAre("gradient of the result: each device holds 1",
                                    "each device's gradient of y: 1 and 1, sum 2",
                                    "the gradient of y: it should be 1"));
  const auto other =
      find_adjoint_counterexample(program, ir::Binary{ir::BinaryFn::add},
                                  {{type("M {I_t}"), {}, "x"}, {type("M"), {}, "y"}}, {type("M")});
  ASSERT_TRUE(other);
  EXPECT_THAT(other->lines,
              ElementsAre("gradient of the result: device t=0 holds 1, t=1 holds 2: it is 3",
                          "each device's gradient of x: 1 and 2",
                          "the gradient of x: each device should hold all of it, 3"));
}

TEST(AdjointCounterexample, WeightsSplitOverAnAxisOfI) {
  const std::vector<Input> operands{{type("B M {I_t}"), {}, "x"}, {type("M F/t"), {}, "w"}};
  const ir::Op op =
      testing::elaborated(program, ir::Einsum{pattern("B M, M F -> B F"), {}}, types_of(operands));
  const auto e = find_adjoint_counterexample(program, op, operands, {type("B F/t")});
  ASSERT_TRUE(e);
  EXPECT_EQ(e->sizes, "B=1 F=2 M=1");
}

}  // namespace
}  // namespace shardproof::denote
