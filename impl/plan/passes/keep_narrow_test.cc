// Values that are all bf16 are stored as bf16, if every step that uses them can do so.
#include <gtest/gtest.h>

#include "impl/plan/passes/passes.h"

namespace shardproof::plan {
namespace keep_narrow_test {

constexpr BufferId narrow = 0, wide = 1, out = 2, other = 3, state = 4, sum = 5;
constexpr int64_t entries = 6;

Ref ref(BufferId buffer, Element element = Element::f32) {
  return {buffer, element, 0, {entries}, {1}, {}};
}

Step kernel(KernelOp op, const Ref& to, const std::vector<Ref>& from) {
  Step step;
  step.op = "step";
  step.kernel = {std::move(op), to, from};
  step.writes = {to.buffer};
  for (const Ref& each : from) step.reads.push_back(each.buffer);
  return step;
}

const Nest flat{{entries}, {{1}, {1}}};
Pointwise chain(Element from, std::vector<PointwiseStep> steps, Element to = Element::f32) {
  return {{from}, std::move(steps), to, false, flat};
}
const PointwiseStep round_bf16{PointwiseFn::round_bf16, true, {0}, 0, ""};

Step widening() {
  return kernel(chain(Element::bf16, {}), ref(wide), {ref(narrow, Element::bf16)});
}
Step copy(BufferId from, BufferId to) { return kernel(Copy{flat, 4}, ref(to), {ref(from)}); }
Step negated(BufferId from, BufferId to) {
  return kernel(chain(Element::f32, {{PointwiseFn::neg, true, {0}, 0, ""}}), ref(to), {ref(from)});
}
Step squares(BufferId from) {
  Step step;
  step.fused = FusedKernel{SumSquares{entries}, {ref(sum)}, {ref(from)}};
  step.reads = {from};
  step.writes = {sum};
  return step;
}
Step adamw(BufferId weight, BufferId gradient) {
  Step step;
  AdamW op;
  op.count = entries;
  step.fused = FusedKernel{op, {ref(weight)}, {ref(weight), ref(gradient), ref(state), ref(state)}};
  step.reads = {weight, gradient, state};
  step.writes = {weight};
  return step;
}
Step collective(BufferId from, BufferId to) {
  Step step;
  step.op = "all_reduce";
  step.reads = {from};
  step.writes = {to};
  return step;
}
Step loop(std::vector<Step> body) {
  Step step;
  step.is_loop = true;
  step.times = 2;
  step.writes = {wide};
  step.body = std::move(body);
  return step;
}

struct Case {
  std::vector<Step> steps;
  std::vector<BufferId> given{state, out};
  std::vector<Piece> pieces{Piece{entries * 2}, Piece{entries * 4}, Piece{entries * 4},
                            Piece{entries * 4}, Piece{entries * 4}, Piece{4}};
  /// Whether `wide` is bf16 then.
  bool narrows() {
    keep_narrow(steps, pieces, given);
    return pieces[wide].bytes == entries * 2;
  }
};

TEST(KeepNarrow, TheReadersOfWhatWasWidenedReadBf16) {
  Case one{{loop({widening()}), squares(wide), adamw(state, wide), negated(wide, out)}};
  ASSERT_TRUE(one.narrows());
  const Kernel& copy = *one.steps[0].body[0].kernel;
  EXPECT_EQ(std::get<Copy>(copy.op).bytes, 2u);
  EXPECT_EQ(copy.out.element, Element::bf16);
  EXPECT_EQ(std::get<SumSquares>(one.steps[1].fused->op).element, Element::bf16);
  EXPECT_EQ(one.steps[1].fused->inputs[0].element, Element::bf16);
  EXPECT_EQ(std::get<AdamW>(one.steps[2].fused->op).gradient, Element::bf16);
  EXPECT_EQ(one.steps[2].fused->inputs[1].element, Element::bf16);
  EXPECT_EQ(one.steps[2].fused->inputs[0].element, Element::f32);
  const auto& negation = std::get<Pointwise>(one.steps[3].kernel->op);
  EXPECT_EQ(negation.inputs[0], Element::bf16);
  EXPECT_EQ(negation.output, Element::f32);
  for (BufferId id : {out, other, state}) EXPECT_EQ(one.pieces[id].bytes, entries * 4u);
}

TEST(KeepNarrow, WhatIsRoundedWhatIsZeroAndCopiesOfIt) {
  Pointwise zeros = chain(Element::f32, {{PointwiseFn::constant, true, {}, 0, ""}});
  zeros.inputs = {};
  zeros.nest.strides.pop_back();
  Case one{{kernel(Zero{entries * 4}, ref(wide), {}), kernel(zeros, ref(wide), {}),
            kernel(chain(Element::f32, {round_bf16}), ref(wide), {ref(out)}), copy(wide, other),
            squares(other)}};
  ASSERT_TRUE(one.narrows());
  EXPECT_EQ(one.pieces[other].bytes, entries * 2u);
  EXPECT_EQ(std::get<Zero>(one.steps[0].kernel->op).bytes, entries * 2u);
  EXPECT_EQ(std::get<Pointwise>(one.steps[1].kernel->op).output, Element::bf16);
  const auto& rounding = std::get<Pointwise>(one.steps[2].kernel->op);
  EXPECT_EQ(rounding.inputs[0], Element::f32);
  EXPECT_EQ(rounding.output, Element::bf16);
  EXPECT_EQ(std::get<Copy>(one.steps[3].kernel->op).bytes, 2u);
}

TEST(KeepNarrow, NotWhatIsMoreThanBf16OrIsReadAsF32) {
  const auto stays = [](const char* why, std::vector<Step> steps) {
    Case one{std::move(steps)};
    EXPECT_FALSE(one.narrows()) << why;
    for (const Step& step : one.steps)
      for_each_ref(step, [&](const Ref& ref) {
        EXPECT_EQ(ref.element, ref.buffer == narrow ? Element::bf16 : Element::f32) << why;
      });
  };
  stays("another writer", {widening(), negated(out, wide), squares(wide)});
  stays("another writer in a loop", {widening(), loop({negated(out, wide)}), squares(wide)});
  stays("no widening", {kernel(chain(Element::bf16, {{PointwiseFn::neg, true, {0}, 0, ""}}),
                               ref(wide), {ref(narrow, Element::bf16)})});
  stays("more than a factor of 1",
        {kernel(chain(Element::bf16, {{PointwiseFn::constant, true, {}, 1.5, ""},
                                      {PointwiseFn::mul, true, {0, 1}, 0, ""}}),
                ref(wide), {ref(narrow, Element::bf16)})});
  Pointwise constant = chain(Element::f32, {{PointwiseFn::constant, true, {}, 0.1, ""}});
  constant.inputs = {};
  stays("a number that is not bf16", {kernel(constant, ref(wide), {}), squares(wide)});
  stays("computed in double", {[] {
          Step step = widening();
          std::get<Pointwise>(step.kernel->op).f64 = true;
          return step;
        }()});
  stays("a product reads it", {widening(), kernel(Matmul{}, ref(out), {ref(wide), ref(wide)})});
  stays("a product in a later loop reads it",
        {loop({widening()}), loop({kernel(Matmul{}, ref(out), {ref(wide), ref(wide)})})});
  stays("a collective has it", {widening(), collective(wide, out)});
  stays("a collective makes it", {widening(), collective(out, wide)});
  stays("it is the optimizer's weight", {widening(), adamw(wide, out)});
  stays("it is the optimizer's moment", {widening(), [] {
                                           Step step = adamw(state, out);
                                           step.fused->inputs[2] = ref(wide);
                                           step.reads.push_back(wide);
                                           return step;
                                         }()});
  stays("it is all of the optimizer's", {widening(), adamw(wide, wide)});
  stays("copied to where it is seen as f32", {widening(), copy(wide, out)});
  stays("copied twice to there", {widening(), copy(wide, other), copy(other, out)});
  stays("made of what is more by copies", {widening(), negated(out, other), copy(other, wide)});
  Case given{{widening(), squares(wide)}, {wide}};
  EXPECT_FALSE(given.narrows());
  Case as_bytes{{widening(), kernel(Copy{flat, 4}, ref(out), {ref(wide, Element::i32)})}};
  EXPECT_FALSE(as_bytes.narrows());
}

TEST(KeepNarrow, ACastThereAndBackIsACopy) {
  const Ref to = ref(out, Element::bf16), from = ref(narrow, Element::bf16);
  Case one{{kernel(chain(Element::bf16, {round_bf16}, Element::bf16), to, {from})}};
  keep_narrow(one.steps, one.pieces, one.given);
  EXPECT_EQ(std::get<Copy>(one.steps[0].kernel->op).bytes, 2u);
  Case other{{kernel(chain(Element::f32, {round_bf16}, Element::bf16), to, {ref(state)})}};
  keep_narrow(other.steps, other.pieces, other.given);
  EXPECT_TRUE(std::holds_alternative<Pointwise>(other.steps[0].kernel->op));
}

}  // namespace keep_narrow_test
}  // namespace shardproof::plan
