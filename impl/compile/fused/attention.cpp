// Attention and its gradient, on operands as they lie in memory.
#include <algorithm>

#include "impl/compile/fused/call.h"

namespace shardproof::compile {
namespace {

/// The dims of a call: `batch` is all that is no working dim.
struct AttentionDims {
  Dim position, key, group, width;
  Labels batch, queries, keys;

  explicit AttentionDims(const FusedCall& call)
      : position(call.working(0)),
        key(call.working(1)),
        group(call.working(2)),
        width(call.working(3)),
        batch(call.rest("q", {position, group, width})),
        queries(batch),
        keys(batch) {
    FusedCall::require(batch.size() <= 3);
    queries.insert(queries.end(), {position, group, width});
    keys.insert(keys.end(), {key, width});
  }
};

/// What loops over `dim` move in a view along `labels`.
int64_t stride_of(const Ref& view, const Labels& labels, const Dim& dim) {
  const size_t at = position_of(labels, dim);
  return at < labels.size() && view.extents[at] != 1 ? view.strides[at] : 0;
}

void set_batch(int64_t (&strides)[3], const AttentionDims& dims, const Ref& view,
               const Labels& labels) {
  const size_t first = 3 - dims.batch.size();
  for (size_t d = 0; d < dims.batch.size(); ++d)
    strides[first + d] = stride_of(view, labels, dims.batch[d]);
}

HeadStrides strides_of(const AttentionDims& dims, const Ref& view, const Labels& labels) {
  HeadStrides strides;
  set_batch(strides.batch, dims, view, labels);
  strides.position = stride_of(view, labels, has(labels, dims.key) ? dims.key : dims.position);
  strides.group = stride_of(view, labels, dims.group);
  return strides;
}

class AttentionBinding {
 public:
  explicit AttentionBinding(const FusedCall& call) : call_(call), dims_(call) {}

  /// An operand whose width is innermost; packed where it is not.
  Ref operand(const Name& param, const Labels& order, HeadStrides& strides) {
    Ref view = call_.view(param, order);
    if (view.strides.back() != 1 && view.extents.back() != 1)
      view = call_.compiler.packed(view, view.element);
    strides = strides_of(dims_, view, order);
    return view;
  }

  /// q, k, v and the mask; then the scale, if it is not known.
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

  Ref make(size_t r, const Labels& order, const Ref& like, HeadStrides& strides) const {
    const Labels labels = call_.result_labels(r, order);
    const Ref made = call_.create(like.element, labels, like, order);
    Ref view = relabelled(made, labels, order, like.extents);
    FusedCall::require(view.strides.back() == 1 || view.extents.back() == 1);
    strides = strides_of(dims_, view, order);
    return view;
  }

  const FusedCall& call_;
  const AttentionDims dims_;
  Ref q_;
  std::vector<Ref> operands_;
  std::vector<double> scale_;

 private:
  Ref mask(AttentionShape& op) {
    Labels all = dims_.queries;
    all.push_back(dims_.key);
    const Labels own = call_.labels("mask", all);
    for (const Dim& label : own) FusedCall::require(has(all, label) && label != dims_.width);
    const Ref mask = call_.ref("mask");
    set_batch(op.mask.batch, dims_, mask, own);
    op.mask.query = stride_of(mask, own, dims_.position);
    op.mask.group = stride_of(mask, own, dims_.group);
    op.mask.key = stride_of(mask, own, dims_.key);
    op.mask_kind = call_.compiler.masks().kind(mask, op.mask);
    return mask;
  }
};

}  // namespace

void fuse_attention(const FusedCall& call) {
  AttentionBinding binding(call);
  Attention op;
  binding.take(op);
  call.require_fused(op);
  const Labels& order = binding.dims_.queries;
  const Ref o = binding.make(0, order, binding.q_, op.o);
  const std::vector<Ref> scratch = call.compiler.fused("attention", op, {o}, binding.operands_);
  call.compiler.attended({binding.operands_, binding.scale_, o, scratch.at(0)});
  call.define(0, o, order);
}

void fuse_attention_grad(const FusedCall& call) {
  AttentionBinding binding(call);
  AttentionGrad op;
  binding.take(op);
  const Labels &rows = binding.dims_.queries, &keys = binding.dims_.keys;
  std::vector<Ref> inputs = {binding.operand("g", rows, op.g)};
  FusedCall::require(inputs[0].element == op.element);
  inputs.insert(inputs.end(), binding.operands_.begin(), binding.operands_.end());
  if (const auto* forward = call.compiler.attended(binding.operands_, binding.scale_)) {
    op.after_forward = true;
    op.o = strides_of(binding.dims_, forward->o, rows);
    inputs.insert(inputs.begin() + 5, {forward->o, forward->masses});
  }
  call.require_fused(op);
  const Ref g_q = binding.make(0, rows, binding.q_, op.g_q);
  const Ref g_k = binding.make(1, keys, binding.operands_[1], op.g_k);
  const Ref g_v = binding.make(2, keys, binding.operands_[2], op.g_v);
  call.compiler.fused("attention_grad", op, {g_q, g_k, g_v}, inputs);
  call.define(0, g_q, rows);
  call.define(1, g_k, keys);
  call.define(2, g_v, keys);
}

}  // namespace shardproof::compile
