// The gradient of a look-up is added where the other summand is.
#include <gtest/gtest.h>

#include "impl/plan/passes/passes.h"

namespace shardproof::plan {
namespace {

constexpr BufferId ids = 0, x = 1, product = 2, looked_up = 3, sum = 4, other = 5;

Ref whole(BufferId buffer) { return {buffer, Element::f32, 0, {6}, {1}, {}}; }
Ref id() { return {ids, Element::i32, 0, {2}, {1}, {}}; }

Step kernel(const KernelOp& op, const Ref& out, std::vector<Ref> inputs) {
  Step step;
  step.op = "op";
  for (const Ref& each : inputs) step.reads.push_back(each.buffer);
  step.writes = {out.buffer};
  step.kernel = {op, out, std::move(inputs)};
  return step;
}

Step look_up() {
  IndexAdd op;
  op.count = 6;
  return kernel(op, whole(looked_up), {id(), whole(x)});
}

Step add(PointwiseFn fn = PointwiseFn::add) {
  Pointwise chain;
  chain.inputs = {Element::f32, Element::f32};
  chain.steps = {{fn, true, {0, 1}, 0, ""}};
  chain.nest = {{6}, {{1}, {1}, {1}}};
  return kernel(chain, whole(sum), {whole(product), whole(looked_up)});
}

struct Case {
  std::vector<Step> steps{look_up(), kernel(Matmul{}, whole(product), {whole(x), whole(other)}),
                          add()};
  std::vector<BufferId> given{ids, x, sum};
  bool adds_into() {
    add_into(steps, std::vector<Piece>(6, Piece{6 * sizeof(float)}), given);
    for (const Step& step : steps)
      if (const auto* op = step.kernel ? std::get_if<IndexAdd>(&step.kernel->op) : nullptr)
        return op->into;
    return false;
  }
};

TEST(AddInto, TheOtherSummandsCopy) {
  for (bool first : {false, true}) {
    Case one;
    if (first) std::swap(one.steps[2].kernel->inputs[0], one.steps[2].kernel->inputs[1]);
    ASSERT_TRUE(one.adds_into());
    ASSERT_EQ(one.steps.size(), 3u);
    const Kernel &copy = one.steps[1].kernel.value(), &adds = one.steps[2].kernel.value();
    EXPECT_TRUE(std::holds_alternative<Matmul>(one.steps[0].kernel->op));
    EXPECT_TRUE(std::holds_alternative<Copy>(copy.op));
    EXPECT_EQ(copy.inputs[0].buffer, product);
    EXPECT_EQ(copy.out.buffer, sum);
    EXPECT_EQ(adds.out.buffer, sum);
    EXPECT_EQ(one.steps[2].reads, (std::vector<BufferId>{ids, x, sum}));
  }
}

/// The other summand may be bf16, the look-up's gradient not.
TEST(AddInto, SummandsOfBf16AreWidened) {
  for (const size_t narrow : {0, 1}) {
    Case one;
    one.steps[2].kernel->inputs[narrow].element = Element::bf16;
    std::get<Pointwise>(one.steps[2].kernel->op).inputs[narrow] = Element::bf16;
    ASSERT_EQ(one.adds_into(), narrow == 0);
    if (narrow == 1) continue;
    const Kernel& copy = one.steps[1].kernel.value();
    const auto& op = std::get<Pointwise>(copy.op);
    EXPECT_EQ(op.inputs, std::vector{Element::bf16});
    EXPECT_EQ(op.output, Element::f32);
    EXPECT_TRUE(op.steps.empty());
    EXPECT_EQ(op.nest.count(), 6);
    EXPECT_EQ(copy.inputs[0].buffer, product);
    EXPECT_EQ(copy.out.buffer, sum);
  }
}

TEST(AddInto, ThenNoCopyIsLeft) {
  Case one;
  one.given = {ids, x};
  ASSERT_TRUE(one.adds_into());
  make_in_stack(one.steps, std::vector<Piece>(6, Piece{6 * sizeof(float)}), one.given);
  ASSERT_EQ(one.steps.size(), 2u);
  EXPECT_EQ(one.steps[0].kernel->out.buffer, sum);
}

TEST(AddInto, NotWhatIsUsedOtherwise) {
  const auto stays = [](const char* why, const auto& change) {
    Case one;
    change(one);
    EXPECT_FALSE(one.adds_into()) << why;
  };
  stays("another reader",
        [](Case& one) { one.steps.push_back(kernel(Copy{}, whole(other), {whole(looked_up)})); });
  stays("it is a result", [](Case& one) { one.given.push_back(looked_up); });
  stays("another writer",
        [](Case& one) { one.steps.push_back(kernel(Copy{}, whole(looked_up), {whole(other)})); });
  stays("multiplied", [](Case& one) { one.steps[2] = add(PointwiseFn::mul); });
  stays("added twice", [](Case& one) {
    one.steps[2].kernel->inputs[0] = whole(looked_up);
    one.steps[2].reads = {looked_up};
  });
  stays("its rows are overwritten before the sum", [](Case& one) {
    one.steps.insert(one.steps.begin() + 1, kernel(Copy{}, whole(x), {whole(other)}));
  });
  stays("the sum is where its rows are", [](Case& one) {
    one.steps[2].kernel->out = whole(x);
    one.steps[2].writes = {x};
  });
  stays("in another order", [](Case& one) {
    one.steps[2].kernel->inputs[1].strides = {-1};
    std::get<Pointwise>(one.steps[2].kernel->op).nest.strides[2] = {-1};
  });
  stays("a part of it", [](Case& one) { one.steps[0].kernel->out.extents = {3}; });
  stays("read in the next iteration", [](Case& one) { std::swap(one.steps[0], one.steps[2]); });
}

}  // namespace
}  // namespace shardproof::plan
