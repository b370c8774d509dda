// A chain that is only copied in another order writes that order itself, entry for entry.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "impl/plan/passes/kernel_step.h"
#include "impl/plan/passes/passes.h"
#include "kernels/cpu/kernels.h"

namespace shardproof::plan {
namespace compute_packed_test {

constexpr BufferId input = 0, made = 1, packed = 2, other = 3;

std::vector<int64_t> without_gaps(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t d = extents.size(); d-- > 1;) strides[d - 1] = strides[d] * extents[d];
  return strides;
}

Ref view(BufferId buffer, const std::vector<int64_t>& extents, const std::vector<int64_t>& order) {
  std::vector<int64_t> walked, strides;
  for (int64_t d : order) {
    walked.push_back(extents[static_cast<size_t>(d)]);
    strides.push_back(without_gaps(extents)[static_cast<size_t>(d)]);
  }
  return {buffer, Element::f32, 0, walked, strides, {}};
}

Ref whole(BufferId buffer, const std::vector<int64_t>& extents) {
  return {buffer, Element::f32, 0, extents, without_gaps(extents), {}};
}

Nest nest_of(const Ref& to, const std::vector<Ref>& from) {
  Nest nest{to.extents, {to.strides}};
  for (const Ref& each : from) nest.strides.push_back(each.strides);
  return coalesced(nest);
}

/// made = input + a number for each of its last dim, then packed = made in another order.
struct Case {
  std::vector<int64_t> extents{4, 2, 3};
  std::vector<int64_t> order{2, 0, 1};
  std::vector<BufferId> given{input};
  std::vector<Step> steps;

  void make() {
    const Ref to = whole(made, extents);
    Ref vector = to;
    vector.buffer = other;
    std::fill(vector.strides.begin(), vector.strides.end(), 0);
    vector.strides.back() = 1;
    Ref all = to;
    all.buffer = input;
    Pointwise chain;
    chain.inputs = {Element::f32, Element::f32};
    chain.steps = {{PointwiseFn::add, true, {0, 1}, 0, ""}};
    chain.nest = nest_of(to, {all, vector});
    const Ref turned = view(made, extents, order);
    steps = {kernel_step("chain", chain, to, {all, vector}),
             kernel_step("pack", Copy{nest_of(whole(packed, turned.extents), {turned}), 4},
                         whole(packed, turned.extents), {turned})};
  }

  int64_t count() const { return whole(made, extents).count(); }

  std::vector<float> run() const {
    std::vector<std::vector<float>> memory(4, std::vector<float>(static_cast<size_t>(count())));
    std::iota(memory[input].begin(), memory[input].end(), 1.0f);
    for (size_t i = 0; i < memory[other].size(); ++i) memory[other][i] = 100.0f * (1 + i);
    for (const Step& each : steps) {
      std::vector<const void*> from;
      for (const Ref& ref : each.kernel->inputs) from.push_back(memory[ref.buffer].data());
      void* to = memory[each.kernel->out.buffer].data();
      if (const auto* chain = std::get_if<Pointwise>(&each.kernel->op))
        cpu::run(*chain, to, from.data());
      else
        cpu::run(std::get<Copy>(each.kernel->op), to, from.data());
    }
    return memory[packed];
  }

  bool joins() {
    const std::vector<Piece> pieces(4, Piece{static_cast<size_t>(count()) * 4});
    const size_t before = steps.size();
    compute_packed(steps, pieces, given);
    return steps.size() < before;
  }
};

TEST(ComputePacked, InAnyOrder) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 200; ++i) {
    Case one;
    one.extents.clear();
    for (uint64_t d = 1 + rng() % 4; d > 0; --d)
      one.extents.push_back(static_cast<int64_t>(1 + rng() % 4));
    one.order.resize(one.extents.size());
    std::iota(one.order.begin(), one.order.end(), 0);
    std::shuffle(one.order.begin(), one.order.end(), rng);
    one.make();
    const std::vector<float> wanted = one.run();
    ASSERT_TRUE(one.joins());
    ASSERT_EQ(one.steps.size(), 1u);
    EXPECT_EQ(one.steps[0].op, "chain");
    EXPECT_EQ(one.steps[0].writes, std::vector<BufferId>{packed});
    EXPECT_EQ(one.run(), wanted);
  }
}

TEST(ComputePacked, NotWhatOthersSeeOrWhatIsNoOrder) {
  const auto stays = [](const char* why, const auto& change) {
    Case one;
    one.make();
    change(one);
    EXPECT_FALSE(one.joins()) << why;
  };
  const auto use = [](BufferId from, BufferId to) {
    return kernel_step("use", Pointwise{}, whole(to, {24}), {whole(from, {24})});
  };
  stays("read once more", [&](Case& one) { one.steps.push_back(use(made, other)); });
  stays("a result", [](Case& one) { one.given.push_back(made); });
  stays("written twice",
        [&](Case& one) { one.steps.insert(one.steps.begin() + 1, use(input, made)); });
  stays("the place is read before",
        [&](Case& one) { one.steps.insert(one.steps.begin() + 1, use(packed, other)); });
  stays("the chain reads the place", [](Case& one) {
    one.steps[0].kernel->inputs[0].buffer = packed;
    one.steps[0].reads[0] = packed;
  });
  stays("a part", [](Case& one) { one.steps[1].kernel->inputs[0].offset = 1; });
  stays("half of it", [](Case& one) {
    std::get<Copy>(one.steps[1].kernel->op).nest = {{2, 2, 3}, {{1, 2, 4}, {6, 3, 1}}};
  });
  stays("repeated", [](Case& one) {
    std::get<Copy>(one.steps[1].kernel->op).nest = {{2, 4, 6}, {{24, 6, 1}, {0, 6, 1}}};
  });
  stays("a diagonal", [](Case& one) {
    std::get<Copy>(one.steps[1].kernel->op).nest = {{4, 6}, {{6, 1}, {7, 1}}};
  });
  stays("no chain", [](Case& one) { one.steps[0].kernel->op = Copy{}; });
  stays("moving", [](Case& one) { std::get<Copy>(one.steps[1].kernel->op).moving = Moving{}; });
  stays("in another loop", [](Case& one) {
    Step loop;
    loop.is_loop = true;
    loop.body = {one.steps[1]};
    one.steps[1] = loop;
  });
}

}  // namespace compute_packed_test
}  // namespace shardproof::plan
