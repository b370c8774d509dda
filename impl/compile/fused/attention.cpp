// Attention and its gradient, on operands with their own strides.
#include <algorithm>

#include "impl/compile/fused/call.h"

namespace shardproof::compile {
namespace {

/// The positions of a call. `batch`: all that are not after `;`.
struct AttentionDims {
  IndexId position, key, group, width;
  Ids batch, queries, keys;

  explicit AttentionDims(const FusedCall& call)
      : position(call.working(0)),
        key(call.working(1)),
        group(call.working(2)),
        width(call.working(3)),
        batch(call.rest("q", {position, group, width})),
        queries(concatenated(batch, {position, group, width})),
        keys(concatenated(batch, {key, width})) {
    FusedCall::require(batch.size() <= 3);
  }
};

/// The stride of the index in the view.
int64_t stride_of(const View& view, IndexId id) {
  const size_t at = position_of(view.ids, id);
  return at < view.ids.size() && view.ref.extents[at] != 1 ? view.ref.strides[at] : 0;
}

void set_batch(int64_t (&strides)[3], const AttentionDims& dims, const View& view) {
  const size_t first = 3 - dims.batch.size();
  for (size_t d = 0; d < dims.batch.size(); ++d)
    strides[first + d] = stride_of(view, dims.batch[d]);
}

HeadStrides strides_of(const AttentionDims& dims, const View& view) {
  HeadStrides strides;
  set_batch(strides.batch, dims, view);
  strides.position = stride_of(view, has(view.ids, dims.key) ? dims.key : dims.position);
  strides.group = stride_of(view, dims.group);
  return strides;
}

class AttentionBinding {
 public:
  explicit AttentionBinding(const FusedCall& call) : call_(call), dims_(call) {}

  /// An operand with a contiguous width; packed if needed.
  Ref operand(const Name& param, const Ids& order, HeadStrides& strides) {
    Ref view = call_.view(param, order);
    if (view.strides.back() != 1 && view.extents.back() != 1)
      view = call_.compiler.packed(view, view.element);
    strides = strides_of(dims_, {view, order});
    return view;
  }

  /// Adds q, k, v and the mask; then the scale, if it is not constant.
  void take(AttentionShape& op) {
    q_ = operand("q", dims_.queries, op.q);
    const Ref k = operand("k", dims_.keys, op.k), v = operand("v", dims_.keys, op.v);
    op.element = q_.element;
    FusedCall::require((op.element == Element::f32 || op.element == Element::bf16) &&
                       k.element == op.element && v.element == op.element);
    const size_t batch = dims_.batch.size();
    for (size_t d = 0; d < batch; ++d) op.batch[3 - batch + d] = q_.extents[d];
    op.queries = q_.extents[batch];
    op.group = q_.extents[batch + 1];
    op.width = q_.extents[batch + 2];
    op.keys = k.extents[batch];
    FusedCall::require(op.fits() && op.keys > 0 && op.queries > 0 && op.batches() > 0 &&
                       op.group > 0 && op.rows() < int64_t{1} << 30 && op.keys < int64_t{1} << 30);
    operands_ = {q_, k, v, mask(op)};
    op.scale = call_.scalar("scale", operands_);
    if (!op.scale.is_input) scale_ = {op.scale.value};
  }

  Ref make(size_t r, const Ids& order, const Ref& like, HeadStrides& strides) const {
    const View made = call_.create(r, like.element, {like, order});
    const Ref view = along(made, order, like.extents);
    FusedCall::require(view.strides.back() == 1 || view.extents.back() == 1);
    strides = strides_of(dims_, {view, order});
    return view;
  }

  const FusedCall& call_;
  const AttentionDims dims_;
  Ref q_;
  std::vector<Ref> operands_;
  std::vector<double> scale_;

 private:
  Ref mask(AttentionShape& op) {
    const View mask = call_.ref("mask");
    for (IndexId id : mask.ids)
      FusedCall::require(id == dims_.key || (has(dims_.queries, id) && id != dims_.width));
    set_batch(op.mask.batch, dims_, mask);
    op.mask.query = stride_of(mask, dims_.position);
    op.mask.group = stride_of(mask, dims_.group);
    op.mask.key = stride_of(mask, dims_.key);
    op.mask_kind = call_.compiler.masks().kind(mask.ref, op.mask);
    return mask.ref;
  }
};

}  // namespace

void fuse_attention(const FusedCall& call) {
  AttentionBinding binding(call);
  Attention op;
  binding.take(op);
  call.require_fused(op);
  const Ids& order = binding.dims_.queries;
  const Ref o = binding.make(0, order, binding.q_, op.o);
  const std::vector<Ref> scratch = call.compiler.fused("attention", op, {o}, binding.operands_);
  call.compiler.attentions().add(
      {binding.operands_, binding.scale_, op.mask_kind, o, scratch.at(0)});
  call.define(0, {o, order});
}

void fuse_attention_grad(const FusedCall& call) {
  AttentionBinding binding(call);
  AttentionGrad op;
  binding.take(op);
  const Ids &rows = binding.dims_.queries, &keys = binding.dims_.keys;
  std::vector<Ref> inputs = {binding.operand("g", rows, op.g)};
  FusedCall::require(inputs[0].element == op.element);
  inputs.insert(inputs.end(), binding.operands_.begin(), binding.operands_.end());
  if (const auto forward = call.compiler.attentions().left(
          {binding.operands_, binding.scale_, op.mask_kind, {}, {}})) {
    op.after_forward = true;
    op.o = strides_of(binding.dims_, {forward->o, rows});
    inputs.insert(inputs.begin() + 5, {forward->o, forward->stats});
  }
  call.require_fused(op);
  const Ref g_q = binding.make(0, rows, binding.q_, op.g_q);
  const Ref g_k = binding.make(1, keys, binding.operands_[1], op.g_k);
  const Ref g_v = binding.make(2, keys, binding.operands_[2], op.g_v);
  call.compiler.fused("attention_grad", op, {g_q, g_k, g_v}, inputs);
  call.define(0, {g_q, rows});
  call.define(1, {g_k, keys});
  call.define(2, {g_v, keys});
}

}  // namespace shardproof::compile
