// Functions along one whole dim, which is made innermost if needed.
#include <algorithm>

#include "impl/compile/fused/call.h"

namespace shardproof::compile {
namespace {

/// The positions of `param` with the worked dim innermost, and their sizes.
struct AsRows {
  Ids order, outer;
  int64_t rows = 0, length = 0;

  AsRows(const FusedCall& call, const Name& param) : outer(call.rest(param, {call.working(0)})) {
    order = concatenated(outer, {call.working(0)});
    const Ref x = call.view(param, order);
    length = x.extents.back();
    call.require_whole(0, length);
    FusedCall::require(length > 0);
    rows = x.count() / length;
  }
};

bool is_narrow(Element element) { return element == Element::f32 || element == Element::bf16; }

template <class Op>
void norm(const FusedCall& call, const std::vector<Name>& operands) {
  const AsRows as(call, "x");
  Op op{as.rows, as.length, call.element("x"), {}};
  FusedCall::require(is_narrow(op.x));
  call.require_fused(op);
  std::vector<Ref> inputs;
  for (const Name& each : operands) inputs.push_back(call.packed(each, as.order));
  op.eps = call.scalar("eps", inputs);
  const Ref made = call.compiler.create(Element::f32, inputs[0].extents);
  call.compiler.fused(call.call.function, op, {made}, inputs);
  call.define(0, {made, as.order});
}

/// f32 only; operands with one entry per row are in `per_row`.
template <class Op>
void plain(const FusedCall& call, const Name& x, const std::vector<Name>& operands,
           const std::vector<Name>& per_row, bool makes_rows) {
  const AsRows as(call, x);
  const Op op{as.rows, as.length};
  FusedCall::require(call.element(x) == Element::f32);
  call.require_fused(op);
  std::vector<Ref> inputs;
  std::vector<int64_t> extents;  // of the result
  for (const Name& each : operands) {
    const bool is_row = std::find(per_row.begin(), per_row.end(), each) == per_row.end();
    inputs.push_back(call.packed(each, is_row ? as.order : as.outer));
    if (is_row) extents = inputs.back().extents;
  }
  if (!makes_rows) extents.pop_back();
  const Ref made = call.compiler.create(Element::f32, extents);
  call.compiler.fused(call.call.function, op, {made}, inputs);
  call.define(0, {made, makes_rows ? as.order : as.outer});
}

}  // namespace

void fuse_rms_norm(const FusedCall& call) { norm<RmsNorm>(call, {"x"}); }
void fuse_rms_norm_grad(const FusedCall& call) { norm<RmsNormGrad>(call, {"g", "x"}); }
void fuse_layer_norm(const FusedCall& call) { norm<LayerNorm>(call, {"x"}); }
void fuse_layer_norm_grad(const FusedCall& call) { norm<LayerNormGrad>(call, {"g", "x"}); }
void fuse_softmax(const FusedCall& call) { plain<Softmax>(call, "x", {"x"}, {}, true); }
void fuse_softmax_grad(const FusedCall& call) {
  plain<SoftmaxGrad>(call, "y", {"g", "y"}, {}, true);
}
void fuse_cross_entropy(const FusedCall& call) {
  plain<CrossEntropy>(call, "logits", {"logits", "target"}, {"target"}, false);
}
void fuse_cross_entropy_grad(const FusedCall& call) {
  plain<CrossEntropyGrad>(call, "logits", {"g", "logits", "target"}, {"g", "target"}, true);
}

}  // namespace shardproof::compile
