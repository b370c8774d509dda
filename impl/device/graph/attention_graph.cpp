#include "impl/device/graph/attention_graph.h"

#include <limits>
#include <utility>

namespace shardproof {
namespace {

constexpr int64_t whole_vector = 8;  ///< strides and widths must be multiples of this

/// Libraries have one batch dim and heads: these are the op's batch dims with more than one entry;
/// heads are the last one. Member g of key head k's group is query head k * group + g, so both need
/// a common stride, or one of them is 1.
class Layout {
 public:
  explicit Layout(const AttentionShape& shape) : shape_(shape) {
    std::vector<size_t> dims;
    for (size_t d = 0; d < 3; ++d)
      if (shape.batch[d] != 1) dims.push_back(d);
    fits_ = dims.size() <= 2;
    if (!dims.empty()) head_ = dims.back();
    if (dims.size() > 1) batch_ = dims[0];
    if (dims.size() == 1 && shape.group > 1 && shape.q.batch[*head_] != shape.group * shape.q.group)
      batch_ = std::exchange(head_, std::nullopt);
    if (dims.size() == 1 && head_ && has_segments() && shape.mask.batch[*head_] != 0)
      batch_ = std::exchange(head_, std::nullopt);
  }

  bool has_segments() const { return shape_.mask_kind == MaskKind::segments; }

  bool fits() const {
    return fits_ && fits_mask() && shape_.element == Element::bf16 && !shape_.scale.is_input &&
           shape_.width % whole_vector == 0 && shape_.queries == shape_.keys &&
           shape_.queries > 1;  // cuDNN 9.26 crashes when it plans the gradient of a single query
  }
  bool fits(const HeadStrides& x, bool of_queries) const {
    if (of_queries && head_ && shape_.group > 1 && x.batch[*head_] != shape_.group * x.group)
      return false;
    const auto walks = [](int64_t extent, int64_t stride) {
      return extent == 1 || (stride > 0 && stride % whole_vector == 0);
    };
    const Four extents = this->extents(of_queries), strides = this->strides(x, of_queries);
    for (size_t d = 0; d < 3; ++d)
      if (!walks(extents[d], strides[d])) return false;
    return true;
  }

  AttentionGraph::Bias bias() const {
    return {0, batch_ && shape_.mask.batch[*batch_] != 0 ? shape_.batch[*batch_] : 1,
            batch_ ? shape_.mask.batch[*batch_] : 0};
  }

  Four extents(bool of_queries) const {
    const int64_t heads = extent(head_);
    return {extent(batch_), of_queries ? heads * shape_.group : heads,
            of_queries ? shape_.queries : shape_.keys, shape_.width};
  }
  GraphTensor array(const HeadStrides& x, bool of_queries) const {
    GraphTensor made{GraphTensor::Kind::array, Element::bf16};
    made.extents = extents(of_queries);
    const Four own = strides(x, of_queries), packed = packed_strides(made.extents);
    for (size_t d = 0; d < own.size(); ++d)
      made.strides[d] = made.extents[d] == 1 ? packed[d] : own[d];
    return made;
  }

 private:
  using Dim = std::optional<size_t>;  ///< of the op's batch
  bool fits_mask() const {
    const bool by_head =
        (shape_.group > 1 && shape_.mask.group != 0) || (head_ && shape_.mask.batch[*head_] != 0);
    return shape_.mask_kind == MaskKind::causal || (has_segments() && !by_head);
  }
  int64_t extent(Dim dim) const { return dim ? shape_.batch[*dim] : 1; }
  Four strides(const HeadStrides& x, bool of_queries) const {
    const auto stride = [&](Dim dim) { return dim ? x.batch[*dim] : 0; };
    return {stride(batch_), of_queries && shape_.group > 1 ? x.group : stride(head_), x.position,
            1};
  }

  const AttentionShape& shape_;
  bool fits_ = true;
  Dim batch_, head_;
};

GraphTensor turned(GraphTensor x) {
  std::swap(x.extents[2], x.extents[3]);
  std::swap(x.strides[2], x.strides[3]);
  return x;
}

class Builder {
 public:
  explicit Builder(const AttentionShape& shape)
      : layout_(shape),
        logits_(layout_.extents(true)),
        rows_(logits_),
        scale_(number(shape.scale.value)) {
    logits_[3] = shape.keys;
    rows_[3] = 1;
  }

  size_t add(const GraphTensor& tensor) {
    graph_.tensors.push_back(tensor);
    return graph_.tensors.size() - 1;
  }
  size_t number(float value) {
    GraphTensor made{GraphTensor::Kind::number};
    made.number = value;
    return add(made);
  }
  size_t array(const HeadStrides& strides, bool of_queries) {
    return add(layout_.array(strides, of_queries));
  }
  size_t array(const Four& extents) {
    return add({GraphTensor::Kind::array, Element::f32, extents, packed_strides(extents)});
  }
  void apply_to(size_t result, GraphFn fn, std::vector<size_t> arguments, int64_t axis = 0) {
    graph_.ops.push_back({fn, std::move(arguments), result, axis});
  }
  size_t apply(GraphFn fn, std::vector<size_t> arguments, const Four& extents,
               Element element = Element::f32, int64_t axis = 0) {
    const size_t made =
        add({GraphTensor::Kind::passing, element, extents, packed_strides(extents)});
    apply_to(made, fn, std::move(arguments), axis);
    return made;
  }
  /// The argument with its last two dims swapped, without a copy.
  size_t apply_turned(size_t x, Element element) {
    GraphTensor made = turned(graph_.tensors[x]);
    made.kind = GraphTensor::Kind::passing;
    made.element = element;
    const size_t result = add(made);
    apply_to(result, GraphFn::turned, {x});
    return result;
  }

  size_t logits(size_t q, size_t k_turned) {
    const size_t x = scaled(apply(GraphFn::product, {q, k_turned}, logits_));
    if (!layout_.has_segments()) return x;
    bias_ = layout_.bias();
    const Four extents{bias_->batch, 1, logits_[2], logits_[3]};
    bias_->tensor =
        add({GraphTensor::Kind::array, Element::bf16, extents, packed_strides(extents)});
    return apply(GraphFn::add, {x, bias_->tensor}, logits_);
  }
  size_t scaled(size_t x) { return apply(GraphFn::multiply, {x, scale_}, logits_); }
  /// -infinity if the key is after the query.
  size_t causal(size_t x) {
    const size_t least = number(-std::numeric_limits<float>::infinity());
    const size_t query = apply(GraphFn::index, {x}, logits_, Element::i32, 2);
    const size_t key = apply(GraphFn::index, {x}, logits_, Element::i32, 3);
    const size_t seen = apply(GraphFn::at_least, {query, key}, logits_, Element::u8);
    return apply(GraphFn::select, {x, least, seen}, logits_);
  }

  const Four& logits_extents() const { return logits_; }
  const Four& row_extents() const { return rows_; }
  const std::optional<AttentionGraph::Bias>& bias() const { return bias_; }
  TensorGraph take() { return std::move(graph_); }

 private:
  const Layout layout_;
  TensorGraph graph_;
  Four logits_, rows_;
  const size_t scale_;
  std::optional<AttentionGraph::Bias> bias_;
};

/// product(turned(weights), rows) per query head, summed over the query heads that share a key
/// head.
void sum_over_queries(Builder& builder, const AttentionShape& shape, size_t weights, size_t rows,
                      size_t result) {
  const size_t by_key = builder.apply_turned(weights, Element::bf16);
  if (shape.group == 1) return builder.apply_to(result, GraphFn::product, {by_key, rows});
  Four extents = builder.row_extents();
  extents[2] = shape.keys;
  extents[3] = shape.width;
  const size_t each = builder.apply(GraphFn::product, {by_key, rows}, extents, Element::bf16);
  builder.apply_to(result, GraphFn::sum, {each});
}

}  // namespace

size_t log_sum_exp_bytes(const AttentionShape& shape) { return shape.stats_bytes() / 2; }

std::optional<AttentionGraph> attention_graph(const Attention& op) {
  const Layout layout(op);
  if (!layout.fits() || !layout.fits(op.q, true) || !layout.fits(op.k, false) ||
      !layout.fits(op.v, false) || !layout.fits(op.o, true))
    return std::nullopt;
  Builder builder(op);
  const Four &logits = builder.logits_extents(), &rows = builder.row_extents();
  const size_t q = builder.array(op.q, true), v = builder.array(op.v, false);
  const size_t k = builder.add(turned(layout.array(op.k, false)));
  const size_t o = builder.array(op.o, true), log_sum_exps = builder.array(rows);

  const size_t x = builder.causal(builder.logits(q, k));
  const size_t largest = builder.apply(GraphFn::largest, {x}, rows);
  const size_t less = builder.apply(GraphFn::subtract, {x, largest}, logits);
  const size_t weights = builder.apply(GraphFn::exp, {less}, logits);
  const size_t sum = builder.apply(GraphFn::sum, {weights}, rows);
  const size_t log = builder.apply(GraphFn::log, {sum}, rows);
  builder.apply_to(log_sum_exps, GraphFn::add, {largest, log});
  const size_t p = builder.apply(GraphFn::divide, {weights, sum}, logits, Element::bf16);
  builder.apply_to(o, GraphFn::product, {p, v});
  return AttentionGraph{builder.take(), {q, k, v}, {o}, log_sum_exps, {}, builder.bias()};
}

// With weights p and d = the sum of g o over the width, the logits' gradient is p (g v' - d).
std::optional<AttentionGraph> attention_graph(const AttentionGrad& op, bool ordered) {
  const Layout layout(op);
  if (!layout.fits() || !op.after_forward) return std::nullopt;
  for (const HeadStrides* each : {&op.g, &op.q, &op.o, &op.g_q})
    if (!layout.fits(*each, true)) return std::nullopt;
  for (const HeadStrides* each : {&op.k, &op.v, &op.g_k, &op.g_v})
    if (!layout.fits(*each, false)) return std::nullopt;
  Builder builder(op);
  const Four &logits = builder.logits_extents(), &rows = builder.row_extents();
  const size_t g = builder.array(op.g, true), q = builder.array(op.q, true);
  const size_t o = builder.array(op.o, true), g_q = builder.array(op.g_q, true);
  const size_t k = builder.add(turned(layout.array(op.k, false)));
  const size_t v = builder.add(turned(layout.array(op.v, false)));
  const size_t g_k = builder.array(op.g_k, false), g_v = builder.array(op.g_v, false);
  const size_t log_sum_exps = builder.array(rows), along = builder.array(rows);
  const Four vectors{rows[0], rows[1], rows[2], op.width};
  const size_t sums = ordered ? g_q : builder.array(vectors);

  const size_t both = builder.apply(GraphFn::multiply, {g, o}, vectors);
  const size_t d = builder.apply(GraphFn::sum, {both}, rows);
  builder.apply_to(along, GraphFn::multiply, {d, builder.number(1)});
  const size_t less =
      builder.apply(GraphFn::subtract, {builder.logits(q, k), log_sum_exps}, logits);
  const size_t p = builder.apply(GraphFn::exp, {builder.causal(less)}, logits);
  sum_over_queries(builder, op, p, g, g_v);
  const size_t g_p = builder.apply(GraphFn::product, {g, v}, logits);
  const size_t centred = builder.apply(GraphFn::subtract, {g_p, along}, logits);
  const size_t g_x = builder.scaled(builder.apply(GraphFn::multiply, {centred, p}, logits));
  sum_over_queries(builder, op, g_x, q, g_k);
  builder.apply_to(sums, GraphFn::product, {g_x, builder.apply_turned(k, Element::f32)});
  if (!ordered) builder.apply_to(g_q, GraphFn::identity, {sums});
  AttentionGraph made{builder.take(), {g, q, k, v, o}, {g_q, g_k, g_v}, log_sum_exps, {},
                      builder.bias()};
  made.scratch.push_back({along, log_sum_exp_bytes(op), false});
  if (!ordered)
    made.scratch.push_back({sums, log_sum_exp_bytes(op) * static_cast<size_t>(op.width), true});
  return made;
}

}  // namespace shardproof
