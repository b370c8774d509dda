#include "spec/cost/cost.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "spec/elaborate/elaborate.h"

namespace shardproof::cost {
namespace {

using namespace ir;

Split split(Name dim, std::vector<Axis> axes = {}) {
  return {Dim{{std::move(dim)}}, std::move(axes)};
}
Type type(Dtype dtype, std::vector<Split> dims, Marks marks = {}) {
  Type result;
  result.dtype = dtype;
  result.dims = std::move(dims);
  result.marks = std::move(marks);
  return result;
}

/// A program with one plan that tests fill in by hand.
struct Plan {
  Program program;
  std::vector<Type> types;

  Plan() {
    for (const char* axis : {"d", "t"}) program.axes[axis];
    for (const char* dim : {"B", "M", "F", "N"}) program.dims[dim];
    program.functions.own().emplace_back();
  }
  Function& function() { return program.functions.own()[0]; }
  ValueId value(Type type, Name name = "") {
    types.push_back(type);
    Value value;
    value.name = std::move(name);
    value.type = std::move(type);
    function().values.push_back(std::move(value));
    return static_cast<ValueId>(types.size() - 1);
  }
  ValueId param(Type type, Name name) {
    const ValueId id = value(std::move(type), std::move(name));
    function().params.push_back(id);
    return id;
  }
  /// The pattern of the op says what the types say.
  ValueId add(Block& block, Op op, std::vector<ValueId> operands, Type result) {
    std::vector<Shape> shapes;
    for (ValueId operand : operands) shapes.push_back(types.at(operand));
    const auto fill = [&](auto& each) {
      if constexpr (requires { each.pattern; })
        each.pattern.left = shapes, each.pattern.right = result;
    };
    std::visit(fill, op);
    EXPECT_FALSE(elaborate::elaborate(program, op, shapes));
    const ValueId id = value(std::move(result));
    block.instrs.push_back({std::move(op), std::move(operands), {id}, {}, {}});
    return id;
  }
  Cost cost() {
    return cost::cost(
        program, [this](size_t) -> const std::vector<Type>& { return types; }, 0);
  }
};

const Type x_type = type(Dtype::bf16, {split("B", {"d"}), split("M", {"t"})});
const Type w_type = type(Dtype::bf16, {split("M", {"t"}), split("F")});
const Type h_type = type(Dtype::bf16, {split("B", {"d"}), split("F")}, {{"t", Mark::U}});

/// x[B/d M/t] times w[M/t F], then an all_reduce over t.
Plan product() {
  Plan plan;
  const ValueId x = plan.param(x_type, "x"), w = plan.param(w_type, "w.up");
  Block& body = plan.function().body;
  const ValueId h = plan.add(body, Einsum{}, {x, w}, h_type);
  Type whole = h_type;
  whole.marks.clear();
  const ValueId y = plan.add(body, Collective{CollectiveFn::all_reduce, {}}, {h}, whole);
  plan.function().returned = {y};
  return plan;
}

TEST(Cost, OfAProductAndItsReduction) {
  const Cost cost = product().cost();
  EXPECT_EQ(cost.summary(), "1 all_reduce");
  EXPECT_EQ(cost.transfers[0].bytes.text(), "4*|B|*|F|/|d| * (|t|-1)/|t|");
  EXPECT_EQ(cost.flops.text(), "2*|B|*|F|*|M|/|d|/|t|");
  EXPECT_EQ(cost.state.text(), "2*|F|*|M|/|t|");
  EXPECT_EQ(cost.inputs.text(), "2*|B|*|M|/|d|/|t|");
  EXPECT_EQ(cost.saved.text(), "0");
  ASSERT_EQ(cost.live.size(), 1u);
  EXPECT_EQ(cost.live[0].text(), "4*|B|*|F|/|d|");  // h and y together
  const Evaluated at = evaluate(cost, {{"B", 8}, {"F", 6}, {"M", 12}, {"d", 2}, {"t", 3}});
  EXPECT_EQ(at.bytes, 4 * 8 * 6 / 2 * 2 / 3);
  EXPECT_EQ(at.flops, 2 * 4 * 4 * 6);
  EXPECT_EQ(at.peak, 2 * (4 * 6 * 2));
}

TEST(Cost, AFactorBesideItsGroupIsOneIndex) {
  Plan plan;
  const Type group = type(Dtype::f32, {split("B"), {Dim{{"M", "F"}}, {"t"}}});
  const Type factor = type(Dtype::f32, {split("M", {"t"})});
  const ValueId x = plan.param(group, "x"), s = plan.param(factor, "s");
  plan.function().returned = {plan.add(plan.function().body, Einsum{}, {x, s}, group)};
  EXPECT_EQ(plan.cost().flops.text(), "2*|B|*|F|*|M|/|t|");
}

TEST(Cost, OfEachCollective) {
  struct Row {
    CollectiveFn fn;
    Type from, to;
    const char* bytes;
  };
  const Type whole = type(Dtype::f32, {split("M"), split("F")});
  const Type m = type(Dtype::f32, {split("M", {"t", "d"}), split("F")});
  const Type f = type(Dtype::f32, {split("M", {"t"}), split("F", {"d"})});
  const Type unreduced = type(Dtype::f32, {split("M"), split("F")}, {{"t", Mark::U}});
  const std::vector<Row> rows = {
      {CollectiveFn::all_gather, m, whole, "4*|F|*|M| * (|d|*|t|-1)/(|d|*|t|)"},
      {CollectiveFn::psum_scatter, unreduced, type(Dtype::f32, {split("M", {"t"}), split("F")}),
       "4*|F|*|M| * (|t|-1)/|t|"},
      {CollectiveFn::all_to_all, m, f, "4*|F|*|M|/|d|/|t| * (|d|-1)/|d|"},
  };
  for (const Row& row : rows) {
    Plan plan;
    const ValueId x = plan.param(row.from, "x");
    plan.function().returned = {
        plan.add(plan.function().body, Collective{row.fn, {}}, {x}, row.to)};
    EXPECT_EQ(plan.cost().transfers.at(0).bytes.text(), row.bytes);
  }
  Plan plan;
  const ValueId x = plan.param(whole, "x");
  plan.add(plan.function().body, Collective{CollectiveFn::slice, {}}, {x}, m);
  EXPECT_EQ(plan.cost().summary(), "no communication");
}

TEST(Cost, ALoopIsMultipliedNotEnumerated) {
  Plan plan;
  const Type carry = type(Dtype::f32, {split("M", {"t"})}), full = type(Dtype::f32, {split("M")});
  const ValueId x0 = plan.param(carry, "x0");
  auto body = std::make_shared<Block>();
  body->params = {plan.value(type(Dtype::i32, {})), plan.value(carry)};
  const ValueId g =
      plan.add(*body, Collective{CollectiveFn::all_gather, {}}, {body->params[1]}, full);
  const ValueId saved = plan.add(*body, Save{}, {g}, full);
  body->next = {plan.add(*body, Collective{CollectiveFn::slice, {}}, {saved}, carry)};
  plan.function().returned = {
      plan.add(plan.function().body, Scan{Dim{{"N"}}, false, body}, {x0}, carry)};
  const Cost cost = plan.cost();
  EXPECT_EQ(cost.summary(), "|N| all_gather");
  EXPECT_EQ(cost.totals()[0].bytes.text(), "4*|M|*|N| * (|t|-1)/|t|");
  EXPECT_EQ(cost.saved.text(), "4*|M|*|N| + 4*|M|*|N|/|t|");
}

TEST(Cost, ARingPassesBlocksReadInLoopsAndSumsOfWhatItEmits) {
  Plan plan;
  DimInfo block;
  block.kind = DimInfo::Kind::sized;
  block.size =
      Arith{Arith::Kind::op,
            "/",
            no_value,
            {{Arith::Kind::size, "M", no_value, {}}, {Arith::Kind::axis, "t", no_value, {}}}};
  plan.program.dims["W"] = block;
  const Type block_type = type(Dtype::f32, {split("W")});
  const ValueId x = plan.param(type(Dtype::f32, {split("M", {"t"})}), "x");
  auto inner = std::make_shared<Block>(), body = std::make_shared<Block>();
  const ValueId b = plan.value(type(Dtype::i32, {}));
  inner->params = {plan.value(type(Dtype::i32, {})), plan.value(block_type)};
  inner->next = {plan.value(block_type)};
  inner->instrs.push_back({Entry{Dim{{"M"}}}, {x, b}, inner->next, {}, {}});
  body->params = {b};
  body->instrs.push_back(
      {Scan{Dim{{"N"}}, false, inner}, {plan.value(block_type)}, {plan.value(block_type)}, {}, {}});
  body->emit = {plan.value(type(Dtype::f32, {split("W"), split("F")}, {{"t", Mark::U}}))};
  plan.function().body.instrs.push_back(
      {Ring{split("M", {"t"}), Dim{{"W"}}, body},
       {},
       {plan.value(type(Dtype::f32, {split("M", {"t"}), split("F")}))},
       {},
       {}});
  const Cost cost = plan.cost();
  EXPECT_EQ(cost.summary(), "((|t| - 1) + |t|) ppermute");
  EXPECT_EQ(cost.totals()[0].bytes.text(), "4*(|M| / |t|)*|F|*|t| + 4*(|t| - 1)*|M|/|t|");
}

TEST(Cost, OfACalledPlanIsCountedAtEachCall) {
  Plan plan = product();
  Function caller;
  caller.kind = Function::Kind::plan;
  std::vector<Type> outer = {x_type, w_type, h_type, h_type};
  for (const Type& each : outer) caller.values.push_back({"", each, {}, false});
  caller.params = {0, 1};
  caller.body.instrs = {{Call{0}, {0, 1}, {2}, {}, {}}, {Call{0}, {0, 1}, {3}, {}, {}}};
  plan.program.functions.own().push_back(caller);
  const TypesOf types = [&](size_t i) -> const std::vector<Type>& {
    return i ? outer : plan.types;
  };
  EXPECT_EQ(cost(plan.program, types, 1).summary(), "2 all_reduce");
}

TEST(Cost, OfAGradientIsThatOfTheForwardAndOfTheBackward) {
  Plan plan = product();
  Function step;
  step.kind = Function::Kind::plan;
  const std::vector<Type> outer = {x_type, w_type, w_type};
  for (const Type& each : outer) step.values.push_back({"", each, {}, false});
  step.params = {0, 1};
  step.body.instrs = {{Grad{0, false, {1}}, {0, 1}, {2}, {}, {}}};
  plan.program.functions.own().push_back(step);
  const TypesOf types = [&](size_t i) -> const std::vector<Type>& {
    return i ? outer : plan.types;
  };
  const Cost forward = cost(plan.program, types, 1);
  EXPECT_TRUE(forward.backward_left_out);
  EXPECT_EQ(forward.summary(), "1 all_reduce");
  const Cost both = cost(plan.program, types, 1, [&](size_t f, const std::vector<size_t>& wrt) {
    EXPECT_EQ(f, 0u);
    EXPECT_EQ(wrt, std::vector<size_t>{1});
    Cost backward;
    backward.transfers = {{"psum_scatter", Amount(1), Amount(64), {}}};
    backward.flops = Amount(100);
    backward.live = {Amount(1000)};
    return std::optional(backward);
  });
  EXPECT_TRUE(both.with_backward);
  EXPECT_FALSE(both.backward_left_out);
  EXPECT_EQ(both.summary(), "1 all_reduce, 1 psum_scatter");
  EXPECT_EQ(both.flops.text(), "2*|B|*|F|*|M|/|d|/|t| + 100");
  const Sizes sizes = {{"B", 8}, {"F", 6}, {"M", 12}, {"d", 2}, {"t", 3}};
  EXPECT_EQ(evaluate(both, sizes).peak, 1000 + evaluate(forward, sizes).saved);
}

TEST(Cost, WhatADeviceHasFitsThoughAllTogetherDoesNot) {
  const int64_t huge = 3'000'000'000;
  const Sizes sizes = {{"B", huge}, {"F", huge}, {"M", 12}, {"d", huge}, {"t", 3}};
  EXPECT_EQ(evaluate(product().cost(), sizes).flops, 2 * huge * 4);
}

TEST(Cost, MissingAndHugeSizesThrow) {
  const Cost cost = product().cost();
  EXPECT_THROW(evaluate(cost, {{"B", 8}}), std::domain_error);
  const int64_t huge = 4'000'000'000'000;
  EXPECT_THROW(evaluate(cost, {{"B", huge}, {"F", huge}, {"M", huge}, {"d", 1}, {"t", 1}}),
               std::domain_error);
}

TEST(Amount, JoinsLikeTermsAndCancels) {
  const Amount t = Amount::axis("t"), d = Amount::axis("d");
  Amount sum = t;
  sum += t;
  EXPECT_EQ(sum.text(), "2*|t|");
  EXPECT_EQ((t * d).over(d).text(), "|t|");
  EXPECT_EQ(Amount(0).text(), "0");
  EXPECT_EQ(Amount::ring({"t"}).text(), "(|t|-1)/|t|");
  EXPECT_EQ(Amount(1).over(t).text(), "1/|t|");
  sum += Amount(-2) * t;
  EXPECT_TRUE(sum.zero());
}

TEST(Amount, NumbersForPeople) {
  EXPECT_EQ(human_bytes(1536), "1.50 KiB");
  EXPECT_EQ(human_bytes(int64_t{3} << 30), "3.00 GiB");
  EXPECT_EQ(human_bytes(12), "12 B");
  EXPECT_EQ(human_flops(1500000), "1.50 MFLOPs");
  EXPECT_EQ(human_flops(0), "0 FLOPs");
}

}  // namespace
}  // namespace shardproof::cost
