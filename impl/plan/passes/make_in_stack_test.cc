// What an iteration emits is made where it is wanted; where others see it, it is copied as before.
#include <gtest/gtest.h>

#include "impl/plan/passes/passes.h"

namespace shardproof::plan {
namespace make_in_stack_test {

constexpr BufferId input = 0, made = 1, other = 2, stack = 3;
constexpr int64_t entries = 6, times = 4;

Ref row(BufferId buffer) { return {buffer, Element::f32, 0, {2, 3}, {3, 1}, {}}; }
Ref slot() {
  Ref ref = row(stack);
  ref.offset = entries;  // the second of two that an iteration makes
  ref.terms = {{0, 2 * entries}};
  return ref;
}

/// A copy, unless it makes or uses something.
Step copy(const std::string& op, const Ref& from, const Ref& to) {
  Step step;
  step.op = op;
  step.kernel = {Copy{}, to, {from}};
  if (op == "make" || op == "use") step.kernel->op = Pointwise{};
  step.reads = {from.buffer};
  step.writes = {to.buffer};
  return step;
}

Step collective(const Ref& from, const Ref& to) {
  Step step = copy("all_reduce", from, to);
  step.kernel.reset();
  return step;
}

struct Loop {
  std::vector<Step> body{copy("make", row(input), row(made)), copy("use", row(made), row(other)),
                         copy("emit", row(made), slot())};
  std::vector<Step> behind;
  std::vector<BufferId> given{input, stack};

  /// How many steps the body has then.
  size_t run() {
    const std::vector<Piece> pieces(5, Piece{entries * sizeof(float)});
    Step loop;
    loop.is_loop = true;
    loop.times = times;
    loop.body = body;
    steps = {loop};
    steps.insert(steps.end(), behind.begin(), behind.end());
    make_in_stack(steps, pieces, given);
    return steps[0].body.size();
  }
  std::vector<Step> steps;
};

TEST(MakeInStack, WhatIsEmittedIsMadeThere) {
  Loop loop;
  ASSERT_EQ(loop.run(), 2u);
  const Step &make = loop.steps[0].body[0], &use = loop.steps[0].body[1];
  for (const Ref* ref : {&make.kernel->out, &use.kernel->inputs[0]}) {
    EXPECT_EQ(ref->buffer, stack);
    EXPECT_EQ(ref->offset, entries);
    ASSERT_EQ(ref->terms.size(), 1u);
    EXPECT_EQ(ref->terms[0].stride, 2 * entries);
  }
  EXPECT_EQ(make.writes, std::vector<BufferId>{stack});
  EXPECT_EQ(use.reads, std::vector<BufferId>{stack});
  EXPECT_EQ(use.kernel->out.buffer, other);
}

TEST(MakeInStack, APartIsSeenWhereItIs) {
  Loop loop;
  loop.body[1].kernel->inputs[0].offset = 3;  // the second row
  loop.body[1].kernel->inputs[0].terms = {{1, 1}};
  ASSERT_EQ(loop.run(), 2u);
  const Ref& seen = loop.steps[0].body[1].kernel->inputs[0];
  EXPECT_EQ(seen.offset, entries + 3);
  ASSERT_EQ(seen.terms.size(), 2u);
  EXPECT_EQ(seen.terms[0].loop, 1u);
  EXPECT_EQ(seen.terms[1].stride, 2 * entries);
}

TEST(MakeInStack, InALoopWithinToo) {
  Loop loop;
  Step within;
  within.is_loop = true;
  within.times = 2;
  within.body = {loop.body[1]};
  loop.body[1] = within;
  ASSERT_EQ(loop.run(), 2u);
  EXPECT_EQ(loop.steps[0].body[1].body[0].kernel->inputs[0].buffer, stack);
}

TEST(MakeInStack, WhateverTheCopyIsCalled) {
  Loop loop;
  loop.body[2].op = "carry";
  EXPECT_EQ(loop.run(), 2u);
}

TEST(MakeInStack, OtherSlotsAreNobodysBusiness) {
  Loop loop;
  Ref first = slot();
  first.offset = 0;
  loop.body.insert(loop.body.begin() + 1, copy("use", first, row(other)));
  loop.body.insert(loop.body.begin() + 1, copy("use", row(other), first));
  loop.body.push_back(copy("use", row(made), row(other)));
  loop.body.push_back(copy("use", row(input), slot()));
  EXPECT_EQ(loop.run(), 6u);
}

TEST(MakeInStack, AStepBehindTheOther) {
  Loop loop;
  const BufferId again = 4;
  loop.body[2] = copy("cast", row(made), row(again));
  loop.body.push_back(copy("emit", row(again), slot()));
  ASSERT_EQ(loop.run(), 2u);
  EXPECT_EQ(loop.steps[0].body[0].kernel->out.buffer, stack);
}

TEST(MakeInStack, OutsideOfLoopsInPlaceOfAWholeBuffer) {
  for (const bool of_the_arena : {true, false}) {
    std::vector<Step> steps{copy("make", row(input), row(made)),
                            copy("copy", row(made), row(other))};
    const std::vector<Piece> pieces(3, Piece{entries * sizeof(float)});
    make_in_stack(steps, pieces, of_the_arena ? std::vector{input} : std::vector{input, other});
    EXPECT_EQ(steps.size(), of_the_arena ? 1u : 2u);
  }
  std::vector<Step> steps{copy("make", row(input), row(made)), copy("copy", row(made), row(other))};
  std::vector<Piece> pieces(3, Piece{entries * sizeof(float)});
  pieces[other].bytes *= 2;
  make_in_stack(steps, pieces, {input});
  EXPECT_EQ(steps.size(), 2u);
}

TEST(MakeInStack, NotWhatOthersSee) {
  const auto stays = [](const char* why, const auto& change) {
    Loop loop;
    change(loop);
    const size_t before = loop.body.size();
    EXPECT_EQ(loop.run(), before) << why;
  };
  stays("read behind the loop",
        [](Loop& loop) { loop.behind = {copy("use", row(made), row(other))}; });
  stays("taken from the last iteration", [](Loop& loop) { std::swap(loop.body[0], loop.body[1]); });
  stays("added to what was there", [](Loop& loop) { loop.body[0].reads = {made}; });
  stays("a collective has it",
        [](Loop& loop) { loop.body[1] = collective(row(made), row(other)); });
  stays("a collective in a loop within has it", [](Loop& loop) {
    Step within;
    within.is_loop = true;
    within.body = {collective(row(made), row(other))};
    loop.body[1] = within;
  });
  stays("it is a result", [](Loop& loop) { loop.given.push_back(made); });
  stays("a part of it", [](Loop& loop) { loop.body[2].kernel->inputs[0].extents = {1, 3}; });
  stays("turned", [](Loop& loop) {
    loop.body[2].kernel->inputs[0].extents = {3, 2};
    loop.body[2].kernel->inputs[0].strides = {1, 3};
  });
  stays("the slot has gaps", [](Loop& loop) { loop.body[2].kernel->out.strides = {6, 1}; });
  stays("seen as entries of another size",
        [](Loop& loop) { loop.body[1].kernel->inputs[0].element = Element::bf16; });
  stays("cast on the way", [](Loop& loop) { loop.body[2].kernel->out.element = Element::bf16; });
  stays("no copy", [](Loop& loop) { loop.body[2].kernel->op = Pointwise{}; });
  const auto used_between = [](Loop& loop, Step use) {
    loop.body.insert(loop.body.begin() + 2, std::move(use));
  };
  stays("the slot is read before the copy",
        [&](Loop& loop) { used_between(loop, copy("use", slot(), row(other))); });
  stays("the slot is written before the copy",
        [&](Loop& loop) { used_between(loop, copy("use", row(other), slot())); });
  stays("a slot of another iteration is read before the copy", [&](Loop& loop) {
    Ref last = slot();
    last.offset = 0;
    last.terms[0].stride = entries;
    used_between(loop, copy("use", last, row(other)));
  });
  stays("a loop writes slots before the copy", [&](Loop& loop) {
    Step within;
    within.is_loop = true;
    within.body = {copy("use", row(other), slot())};
    used_between(loop, within);
  });
  stays("made anew behind the copy",
        [](Loop& loop) { loop.body.push_back(copy("make", row(input), row(made))); });
  stays("read when the slot is another", [](Loop& loop) {
    loop.body.push_back(copy("use", row(input), slot()));
    loop.body.push_back(copy("use", row(made), row(other)));
  });
  stays("read for what takes the slot",
        [](Loop& loop) { loop.body.push_back(copy("use", row(made), slot())); });
}

}  // namespace make_in_stack_test
}  // namespace shardproof::plan
