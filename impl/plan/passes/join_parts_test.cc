// Parts of one array that are added with zeros around them are put together instead.
#include <gtest/gtest.h>

#include "impl/plan/passes/kernel_step.h"
#include "impl/plan/passes/passes.h"

namespace shardproof::plan {
namespace join_parts_test {

constexpr BufferId a = 0, b = 1, zeros = 2, with_a = 3, with_b = 4, sum = 5, other = 6;
constexpr int64_t rows = 3, columns = 4;

Ref whole(BufferId buffer) { return {buffer, Element::bf16, 0, {rows, columns}, {columns, 1}, {}}; }
Ref flat(BufferId buffer) { return {buffer, Element::bf16, 0, {rows * columns}, {1}, {}}; }
/// Some columns from `first` on.
Ref part(BufferId buffer, int64_t first, int64_t count) {
  return {buffer, Element::bf16, first, {rows, count}, {columns, 1}, {}};
}

Step fill() {
  Pointwise chain;
  chain.steps = {{PointwiseFn::constant, true, {}, 0, ""}};
  chain.output = Element::bf16;
  chain.nest = {{rows * columns}, {{1}}};
  return kernel_step("zeros", chain, whole(zeros), {});
}
Step start(BufferId to) { return kernel_step("write", Copy{}, whole(to), {whole(zeros)}); }
Step paste(BufferId from, BufferId to, int64_t first, int64_t count) {
  return kernel_step("write", Copy{}, part(to, first, count),
                     {{from, Element::bf16, 0, {rows, count}, {count, 1}, {}}});
}
Step add() {
  Pointwise chain;
  chain.inputs = {Element::bf16, Element::bf16};
  chain.steps = {{PointwiseFn::add, true, {0, 1}, 0, ""},
                 {PointwiseFn::round_bf16, true, {2}, 0, ""}};
  chain.output = Element::bf16;
  chain.nest = {{rows * columns}, {{1}, {1}, {1}}};
  return kernel_step("+", chain, flat(sum), {flat(with_a), flat(with_b)});
}
Step use(BufferId from, BufferId to) {
  return kernel_step("use", Pointwise{}, flat(to), {flat(from)});
}

struct Case {
  std::vector<Step> steps{fill(),        start(with_a),          paste(a, with_a, 1, 3),
                          start(with_b), paste(b, with_b, 0, 1), add()};
  std::vector<BufferId> given{a, b};
  bool joins() {
    const std::vector<Piece> pieces(7, Piece{rows * columns * 2});
    const size_t before = steps.size();
    join_parts(steps, pieces, given);
    return steps.size() < before;
  }
};

TEST(JoinParts, EachIsPutInItsPlace) {
  Case one;
  ASSERT_TRUE(one.joins());
  ASSERT_EQ(one.steps.size(), 2u);
  for (const auto& [i, from, first] : {std::tuple(0u, a, 1), std::tuple(1u, b, 0)}) {
    const Kernel& copy = *one.steps[i].kernel;
    EXPECT_EQ(copy.inputs[0].buffer, from);
    EXPECT_EQ(copy.out.buffer, sum);
    EXPECT_EQ(copy.out.offset, first);
    EXPECT_EQ(one.steps[i].writes, std::vector<BufferId>{sum});
  }
}

TEST(JoinParts, InAPlaceThatMovesWithALoop) {
  Case one;
  one.steps[5].kernel->out.offset = 100;
  one.steps[5].kernel->out.terms = {{0, 12}};
  Step loop;
  loop.is_loop = true;
  loop.body = one.steps;
  one.steps = {loop};
  std::vector<Step>& body = one.steps[0].body;
  const std::vector<Piece> pieces(7, Piece{rows * columns * 2});
  join_parts(one.steps, pieces, one.given);
  ASSERT_EQ(body.size(), 2u);
  EXPECT_EQ(body[0].kernel->out.offset, 101);
  EXPECT_EQ(body[0].kernel->out.terms.size(), 1u);
}

TEST(JoinParts, ZerosThatOthersReadStay) {
  Case one;
  one.steps.push_back(use(zeros, other));
  ASSERT_TRUE(one.joins());
  EXPECT_EQ(one.steps.size(), 4u);
  Case filled;  // by each of its own
  filled.steps[1] = kernel_step("zeros", Zero{rows * columns * 2}, whole(with_a), {});
  ASSERT_TRUE(filled.joins());
  EXPECT_EQ(filled.steps.size(), 2u);
}

TEST(JoinParts, NotWhatOverlapsOrOthersSee) {
  const auto stays = [](const char* why, const auto& change) {
    Case one;
    change(one);
    EXPECT_FALSE(one.joins()) << why;
  };
  const auto chain = [](Case& one) -> Pointwise& {
    return std::get<Pointwise>(one.steps[5].kernel->op);
  };
  stays("an entry in both", [](Case& one) { one.steps[4] = paste(b, with_b, 0, 2); });
  stays("an entry in none", [](Case& one) { one.steps[2] = paste(a, with_a, 2, 2); });
  stays("the same place", [](Case& one) { one.steps[4] = paste(b, with_b, 1, 3); });
  stays("rows of one, columns of the other", [](Case& one) {
    one.steps[4].kernel->out = {with_b, Element::bf16, 0, {1, columns}, {columns, 1}, {}};
  });
  stays("no zeros",
        [](Case& one) { std::get<Pointwise>(one.steps[0].kernel->op).steps[0].value = 1; });
  stays("zeros that are written again",
        [](Case& one) { one.steps.insert(one.steps.begin() + 1, use(other, zeros)); });
  stays("a summand is read", [](Case& one) { one.steps.push_back(use(with_a, other)); });
  stays("a summand is written",
        [](Case& one) { one.steps.insert(one.steps.begin() + 3, use(other, with_a)); });
  stays("a summand is a result", [](Case& one) { one.given.push_back(with_a); });
  stays("a difference", [&](Case& one) { chain(one).steps[0].fn = PointwiseFn::sub; });
  stays("one of them twice", [&](Case& one) { chain(one).steps[0].arguments = {0, 0}; });
  stays("in another order", [&](Case& one) {
    chain(one).nest = {{columns, rows}, {{rows, 1}, {1, columns}, {1, columns}}};
  });
  stays("in another element", [&](Case& one) { chain(one).inputs[0] = Element::f32; });
  stays("the place is read before the sum",
        [](Case& one) { one.steps.insert(one.steps.begin() + 5, use(sum, other)); });
  stays("a place that is data",
        [](Case& one) { std::get<Copy>(one.steps[2].kernel->op).moving = Moving{}; });
}

}  // namespace join_parts_test
}  // namespace shardproof::plan
