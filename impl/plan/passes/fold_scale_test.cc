// The optimizer scales a gradient that was scaled for it alone.
#include <gtest/gtest.h>

#include "impl/plan/passes/passes.h"

namespace shardproof::plan {
namespace fold_scale_test {

constexpr BufferId gradient = 0, number = 1, scaled = 2, weights = 3, other = 4;

Ref whole(BufferId buffer) { return {buffer, Element::f32, 0, {6}, {1}, {}}; }
Ref spread(BufferId buffer) { return {buffer, Element::f32, 2, {6}, {0}, {}}; }

Step touching(const std::string& op, std::vector<BufferId> reads, std::vector<BufferId> writes) {
  Step step;
  step.op = op;
  step.reads = std::move(reads);
  step.writes = std::move(writes);
  return step;
}

Step scale() {
  Step step = touching("*", {gradient, number}, {scaled});
  Pointwise chain;
  chain.inputs = {Element::f32, Element::f32};
  chain.steps = {{PointwiseFn::mul, true, {0, 1}, 0, ""}};
  step.kernel = {chain, whole(scaled), {whole(gradient), spread(number)}};
  return step;
}

Step adamw() {
  Step step = touching("adamw", {weights, scaled}, {weights});
  AdamW op;
  op.count = 6;
  op.lr = {0, true};
  step.fused =
      FusedKernel{op,
                  {whole(weights)},
                  {whole(weights), whole(scaled), whole(weights), whole(weights), whole(other)}};
  return step;
}

struct Case {
  std::vector<Step> steps{scale(), adamw()};
  std::vector<BufferId> given{gradient, number, weights};
  bool folds() {
    const size_t before = steps.size();
    fold_scale(steps, given);
    return steps.size() < before;
  }
};

TEST(FoldScale, TheNumberIsTheLastInput) {
  for (bool number_first : {false, true}) {
    Case one;
    if (number_first) std::swap(one.steps[0].kernel->inputs[0], one.steps[0].kernel->inputs[1]);
    ASSERT_TRUE(one.folds());
    const FusedKernel& step = *one.steps[0].fused;
    EXPECT_EQ(step.inputs[1].buffer, gradient);
    ASSERT_EQ(step.inputs.size(), 6u);
    EXPECT_EQ(step.inputs[5].buffer, number);
    EXPECT_EQ(step.inputs[5].offset, 2);
    EXPECT_EQ(step.inputs[5].count(), 1);
    EXPECT_TRUE(std::get<AdamW>(step.op).scale.is_input);
    for (BufferId id : {gradient, number, weights, other})
      EXPECT_NE(std::find(one.steps[0].reads.begin(), one.steps[0].reads.end(), id),
                one.steps[0].reads.end());
  }
}

TEST(FoldScale, NotWhatOthersSeeOrWhatIsNoProduct) {
  const auto stays = [](const char* why, const auto& change) {
    Case one;
    change(one);
    EXPECT_FALSE(one.folds()) << why;
  };
  const auto kernel = [](Case& one) -> Kernel& { return *one.steps[0].kernel; };
  const auto chain = [&](Case& one) -> Pointwise& { return std::get<Pointwise>(kernel(one).op); };
  stays("read once more",
        [](Case& one) { one.steps.push_back(touching("use", {scaled}, {other})); });
  stays("read before", [](Case& one) {
    one.steps.insert(one.steps.begin() + 1, touching("use", {scaled}, {other}));
  });
  stays("read in a loop", [](Case& one) {
    Step loop = touching("", {}, {});
    loop.is_loop = true;
    loop.body = {touching("use", {scaled}, {other})};
    one.steps.push_back(loop);
  });
  stays("a result", [](Case& one) { one.given.push_back(scaled); });
  stays("the gradient is written in between", [](Case& one) {
    one.steps.insert(one.steps.begin() + 1, touching("use", {other}, {gradient}));
  });
  stays("the number is written in between", [](Case& one) {
    one.steps.insert(one.steps.begin() + 1, touching("use", {other}, {number}));
  });
  stays("a part of it", [](Case& one) { one.steps[1].fused->inputs[1].extents = {5}; });
  stays("no product", [&](Case& one) { chain(one).steps[0].fn = PointwiseFn::add; });
  stays("in double", [&](Case& one) { chain(one).f64 = true; });
  stays("of two vectors", [&](Case& one) { kernel(one).inputs[1] = whole(number); });
  stays("of bf16", [&](Case& one) { kernel(one).inputs[0].element = Element::bf16; });
  stays("more than a product", [&](Case& one) {
    chain(one).steps.push_back({PointwiseFn::neg, true, {2}, 0, ""});
  });
  stays("scaled already", [](Case& one) {
    std::get<AdamW>(one.steps[1].fused->op).scale = {2, false};
  });
}

}  // namespace fold_scale_test
}  // namespace shardproof::plan
