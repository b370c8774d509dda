// Rotary positions: [outer, position, inner, width], in x's order if its width is innermost.
#include "impl/compile/fused/call.h"

namespace shardproof::compile {
namespace {

int64_t product(const std::vector<int64_t>& extents, size_t from, size_t to) {
  int64_t product = 1;
  for (size_t i = from; i < to; ++i) product *= extents[i];
  return product;
}

void turn(const FusedCall& call, const Name& x, bool inverse) {
  const IndexId position = call.working(0), width = call.working(1);
  const Ids order = concatenated(call.rest(x, {width}), {width});
  const size_t at = position_of(order, position);
  FusedCall::require(at + 1 < order.size());
  const Ref from = call.packed(x, order);
  call.require_whole(1, from.extents.back());
  Rope op;
  op.outer = product(from.extents, 0, at);
  op.positions = from.extents[at];
  op.inner = product(from.extents, at + 1, order.size() - 1);
  op.width = from.extents.back();
  op.element = from.element;
  op.inverse = inverse;
  FusedCall::require((op.element == Element::f32 || op.element == Element::bf16) &&
                     op.width % 2 == 0 && op.width <= Rope::widest);
  call.require_fused(op);
  std::vector<Ref> inputs = {from, call.packed("pos", {position})};
  op.base = call.scalar("base", inputs);
  const Ref made = call.compiler.create(from.element, from.extents);
  call.compiler.fused(call.call.function, op, {made}, inputs);
  call.define(0, {made, order});
}

}  // namespace

void fuse_rope(const FusedCall& call) { turn(call, "x", false); }
void fuse_rope_inverse(const FusedCall& call) { turn(call, "x", true); }
void fuse_rope_grad(const FusedCall& call) { turn(call, "g", true); }

}  // namespace shardproof::compile
