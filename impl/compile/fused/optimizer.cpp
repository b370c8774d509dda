#include "impl/compile/fused/call.h"

namespace shardproof::compile {

void fuse_adamw(const FusedCall& call) {
  const Labels order = call.labels("w");
  AdamW op;
  for (const char* each : {"w", "g", "m", "v"})
    FusedCall::require(call.element(each) == Element::f32);
  call.require_fused(op);
  std::vector<Ref> inputs, outputs;
  for (const char* each : {"w", "g", "m", "v"}) inputs.push_back(call.packed(each, order));
  op.count = inputs[0].count();
  op.step = call.scalar("step", inputs);
  op.lr = call.scalar("lr", inputs);
  op.decay = call.scalar("decay", inputs);
  op.b1 = call.scalar("b1", inputs);
  op.b2 = call.scalar("b2", inputs);
  op.eps = call.scalar("eps", inputs);
  for (int i = 0; i < 3; ++i)
    outputs.push_back(call.compiler.create(Element::f32, inputs[0].extents));
  call.compiler.fused("adamw", op, outputs, inputs);
  for (size_t i = 0; i < 3; ++i) call.define(i, outputs[i], order);
}

void fuse_sumsq(const FusedCall& call) {
  const Ref g = call.packed("g", call.labels("g"));
  const SumSquares op{g.count(), g.element};
  FusedCall::require(g.element == Element::f32 || g.element == Element::bf16);
  call.require_fused(op);
  const Ref made = call.compiler.create(Element::f32, {});
  call.compiler.fused("sumsq", op, {made}, {g});
  call.define(0, made, {});
}

}  // namespace shardproof::compile
