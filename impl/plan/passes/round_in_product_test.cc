// Casts of given arrays move into the products that read them. Red if one moves that something else
// reads, whose source may change before, or that makes a part or another order.
#include <gtest/gtest.h>

#include "impl/device/forwarding.h"
#include "impl/plan/passes/kernel_step.h"
#include "impl/plan/passes/passes.h"

namespace shardproof::plan {
namespace round_in_product_test {

constexpr BufferId weights = 0, narrow = 1, x = 2, product = 3, other = 4;
constexpr size_t no_loop = 7;

class Tiles : public ForwardingDevice {
 public:
  explicit Tiles(bool has) : ForwardingDevice(cpu_device()), has_(has) {}
  bool has_fused(const FusedOp&) const override { return has_; }

 private:
  bool has_;
};

Ref matrix(BufferId id, Element element = Element::bf16) {
  return {id, element, 0, {4, 6}, {6, 1}, {}};
}

Step cast() {
  Pointwise chain;
  chain.inputs = {Element::f32};
  chain.output = Element::bf16;
  chain.steps = {{PointwiseFn::round_bf16, true, {0}, 0, ""}};
  return kernel_step("bf16", chain, matrix(narrow), {matrix(weights, Element::f32)});
}
Step multiply(BufferId a = x, BufferId b = narrow) {
  Matmul op;
  op.elements = {Element::bf16, Element::bf16, Element::bf16};
  return kernel_step("einsum", op, matrix(product), {matrix(a), matrix(b)});
}
Step touching(std::vector<BufferId> reads, std::vector<BufferId> writes) {
  Step step;
  step.reads = std::move(reads);
  step.writes = std::move(writes);
  return step;
}
Step loop(std::vector<Step> body) {
  Step step;
  step.is_loop = true;
  step.times = 3;
  step.body = std::move(body);
  return step;
}

struct Case {
  std::vector<Step> steps{cast(), multiply()};
  std::vector<BufferId> given{weights, x, product};
  bool has_tiles = true;
  bool moves() {
    const size_t before = steps.size();
    round_in_product(steps, given, Tiles(has_tiles));
    return steps.size() < before;
  }
  Ref& cast_to() { return steps[0].kernel->out; }
  Ref& cast_from() { return steps[0].kernel->inputs[0]; }
};

TEST(RoundInProduct, TheProductReadsTheSource) {
  Case one;
  one.cast_from().offset = 5;
  one.cast_from().terms = {{no_loop, 24}};
  one.steps[1].kernel->inputs[1].offset = 12;
  one.steps[1].kernel->inputs[1].terms = {{no_loop + 1, 2}};
  ASSERT_TRUE(one.moves());
  const Step& made = one.steps[0];
  const FusedKernel& fused = *made.fused;
  EXPECT_FALSE(made.kernel);
  EXPECT_EQ(made.op, "einsum");
  EXPECT_EQ(made.reads, (std::vector{x, weights}));
  EXPECT_EQ(std::get<RoundedProduct>(fused.op).product.elements,
            (std::array{Element::bf16, Element::bf16, Element::f32}));
  const Ref& read = fused.inputs[1];
  EXPECT_EQ(read.buffer, weights);
  EXPECT_EQ(read.element, Element::f32);
  EXPECT_EQ(read.offset, 17);
  EXPECT_EQ(read.strides, (std::vector<int64_t>{6, 1}));
  ASSERT_EQ(read.terms.size(), 2u);
  EXPECT_EQ(read.terms[0].loop + read.terms[1].loop, 2 * no_loop + 1);
  EXPECT_EQ(fused.inputs[0].buffer, x);
  EXPECT_EQ(fused.outputs[0].buffer, product);
}

TEST(RoundInProduct, EveryProductThatReadsIt) {
  Case one;
  one.steps = {cast(), multiply(), multiply(narrow, x), multiply(narrow, narrow)};
  ASSERT_TRUE(one.moves());
  for (const Step& step : one.steps) ASSERT_TRUE(step.fused);
  EXPECT_EQ(one.steps[1].reads, (std::vector{weights, x}));
  EXPECT_EQ(one.steps[2].reads, (std::vector{weights, weights}));
}

TEST(RoundInProduct, BothOperandsOfAProduct) {
  Case one;
  one.steps = {cast(), cast(), multiply(other, narrow)};
  one.steps[1].writes = {other};
  one.steps[1].kernel->out.buffer = other;
  ASSERT_TRUE(one.moves());
  ASSERT_EQ(one.steps.size(), 1u);
  EXPECT_EQ(std::get<RoundedProduct>(one.steps[0].fused->op).product.elements,
            (std::array{Element::bf16, Element::f32, Element::f32}));
}

TEST(RoundInProduct, InALoop) {
  Case one;
  one.steps = {loop({cast(), multiply()})};
  round_in_product(one.steps, one.given, Tiles(true));
  ASSERT_EQ(one.steps[0].body.size(), 1u);
  EXPECT_TRUE(one.steps[0].body[0].fused);
}

TEST(RoundInProduct, Stays) {
  const auto stays = [](const char* why, const auto& change) {
    Case one;
    change(one);
    EXPECT_FALSE(one.moves()) << why;
  };
  using Change = Case&;
  stays("no tiles", [](Change c) { c.has_tiles = false; });
  stays("the source is not given", [](Change c) { c.given = {x, product}; });
  stays("the rounded array is a result", [](Change c) { c.given.push_back(narrow); });
  stays("nothing reads it", [](Change c) { c.steps.pop_back(); });
  stays("another reader", [](Change c) { c.steps.push_back(touching({narrow}, {other})); });
  stays("a reader before it",
        [](Change c) { c.steps.insert(c.steps.begin(), touching({narrow}, {other})); });
  stays("a reader in a loop", [](Change c) { c.steps.push_back(loop({multiply()})); });
  stays("another writer", [](Change c) { c.steps.push_back(touching({}, {narrow})); });
  stays("the source changes",
        [](Change c) { c.steps.insert(c.steps.begin() + 1, touching({}, {weights})); });
  stays("the source changes in a loop",
        [](Change c) { c.steps.insert(c.steps.begin() + 1, loop({touching({}, {weights})})); });
  stays("another turn of a pipeline", [](Change c) { c.steps[1].turn = 1; });
  stays("in f64",
        [](Change c) { std::get<Matmul>(c.steps[1].kernel->op).elements[0] = Element::f64; });
  stays("it makes a part", [](Change c) { c.cast_to().offset = 1; });
  stays("it moves with a loop", [](Change c) { c.cast_to().terms = {{no_loop, 1}}; });
  stays("another order", [](Change c) { c.cast_from().strides = {1, 4}; });
  stays("it repeats a row", [](Change c) { c.cast_from().strides = {0, 1}; });
  stays("more than a cast", [](Change c) {
    std::get<Pointwise>(c.steps[0].kernel->op)
        .steps.push_back({PointwiseFn::neg, true, {1}, 0, ""});
  });
}

TEST(RoundInProduct, TheSourceMayChangeAfterwards) {
  Case one;
  one.steps.push_back(touching({}, {weights}));
  EXPECT_TRUE(one.moves());
}

}  // namespace round_in_product_test
}  // namespace shardproof::plan
