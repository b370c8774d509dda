#include "impl/plan/op_text.h"

#include <sstream>

#include "impl/plan/chain_text.h"

namespace shardproof::plan {
namespace {

using Operands = std::vector<std::string>;

std::string call(const std::string& name, const Operands& operands) {
  std::string text = name + "(";
  for (size_t i = 0; i < operands.size(); ++i) text += (i ? ", " : "") + operands[i];
  return text + ")";
}

const char* of_mask(MaskKind kind) {
  switch (kind) {
    case MaskKind::any:
      return "";
    case MaskKind::causal:
      return " causal";
    case MaskKind::segments:
      return " causal_segments";
  }
  return "";
}

const char* name_of(OrderedFn fn) {
  switch (fn) {
    case OrderedFn::cumsum:
      return "cumsum";
    case OrderedFn::argsort:
      return "argsort";
    case OrderedFn::largest:
      return "largest";
    case OrderedFn::largest_at:
      return "largest_at";
  }
  return "";
}

std::string number(const char* name, int64_t value) {
  return std::string(" ") + name + "=" + std::to_string(value);
}

std::string window_text(const IndexWindow& window) {
  return number("first", window.first) + number("extent", window.extent) +
         (window.partial ? " partial" : "");
}

std::string matrix_text(const Matmul& op) {
  const std::string batch = op.batch.count() == 1 ? "" : " batch=" + list_text(op.batch.extents);
  return number("m", op.m) + number("n", op.n) + number("k", op.k) + batch;
}

struct KernelText {
  const Operands& of;

  std::string operator()(const Copy& op) const {
    if (!op.moving) return "copy(" + of.at(0) + ")";
    return call("copy", of) + (op.moving->operand == 0 ? " to" : " from") + " entry " + of.at(1) +
           number("count", op.moving->count) + number("extent", op.moving->extent) +
           number("stride", op.moving->stride);
  }
  std::string operator()(const Zero&) const { return "0"; }
  std::string operator()(const Roll& op) const {
    return call("roll", of) + number("dim", static_cast<int64_t>(op.dim));
  }
  std::string operator()(const Reverse& op) const {
    return call("reverse", of) + number("dim", static_cast<int64_t>(op.dim));
  }
  std::string operator()(const Iota& op) const {
    return "iota()" + number("dim", static_cast<int64_t>(op.dim)) + number("first", op.first);
  }
  std::string operator()(const Random& op) const {
    return call(op.fn == RandomFn::uniform ? "uniform" : "normal", of) + number("first", op.first);
  }
  std::string operator()(const Index& op) const {
    return call("index", of) + window_text(op.window);
  }
  std::string operator()(const IndexAdd& op) const {
    return call("index_add", of) + window_text(op.window) + (op.into ? " added in place" : "");
  }
  std::string operator()(const Ordered& op) const {
    return call(name_of(op.fn), of) + (op.k ? number("k", op.k) : "");
  }
  std::string operator()(const Pointwise& op) const {
    return chain_text(op, of) + (op.f64 ? " in f64" : "");
  }
  std::string operator()(const Reduce& op) const {
    std::string product;
    for (const std::string& each : of) product += (product.empty() ? "" : " * ") + each;
    return std::string(name_of(op.fn)) + "(" + product + ")" + " over " +
           list_text(op.reduced.extents);
  }
  std::string operator()(const Matmul& op) const { return call("matmul", of) + matrix_text(op); }
};

struct FusedText {
  const Operands& of;

  std::string operator()(const RmsNorm& op) const { return rows("rmsnorm", op); }
  std::string operator()(const RmsNormGrad& op) const { return rows("rmsnorm_grad", op); }
  std::string operator()(const LayerNorm& op) const { return rows("layernorm", op); }
  std::string operator()(const LayerNormGrad& op) const { return rows("layernorm_grad", op); }
  std::string operator()(const Softmax& op) const { return rows("softmax", op); }
  std::string operator()(const SoftmaxGrad& op) const { return rows("softmax_grad", op); }
  std::string operator()(const CrossEntropy& op) const { return rows("cross_entropy", op); }
  std::string operator()(const CrossEntropyGrad& op) const {
    return rows("cross_entropy_grad", op);
  }
  std::string operator()(const Rope& op) const {
    return call(op.inverse ? "rope_inverse" : "rope", of) + number("outer", op.outer) +
           number("positions", op.positions) + number("inner", op.inner) +
           number("width", op.width);
  }
  std::string operator()(const AdamW& op) const {
    return call("adamw", of) + number("count", op.count);
  }
  std::string operator()(const SumSquares& op) const {
    return call("sum_squares", of) + number("count", op.count);
  }
  std::string operator()(const Attention& op) const { return attention("attention", op); }
  std::string operator()(const AttentionGrad& op) const {
    return attention("attention_grad", op) + (op.after_forward ? " after_forward" : "");
  }
  std::string operator()(const BiasedProduct& op) const {
    return call("matmul_bias", of) + matrix_text(op.product) + (op.by_row ? " by_row" : "");
  }
  std::string operator()(const RoundedProduct& op) const {
    return call("matmul_of_rounded", of) + matrix_text(op.product);
  }
  std::string operator()(const GroupedProduct& op) const {
    return call("grouped_matmul", of) + matrix_text(op.product) + window_text(op.window);
  }
  std::string operator()(const GroupedSum& op) const {
    return call("grouped_sum", of) + number("m", op.product.m) + number("n", op.product.n) +
           number("entries", op.product.batch.count()) + window_text(op.window);
  }
  std::string operator()(const Rowwise& op) const {
    return chain_text(op, of) + number("rows", op.rows) + number("length", op.length);
  }

 private:
  template <class Op>
  std::string rows(const char* name, const Op& op) const {
    return call(name, of) + number("rows", op.rows) + number("length", op.length);
  }
  std::string attention(const char* name, const AttentionShape& op) const {
    return call(name, of) + " batch=" + list_text({op.batch[0], op.batch[1], op.batch[2]}) +
           number("queries", op.queries) + number("keys", op.keys) + number("group", op.group) +
           number("width", op.width) + of_mask(op.mask_kind);
  }
};

}  // namespace

std::string list_text(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t each : numbers) text += (text.empty() ? "" : " ") + std::to_string(each);
  return "[" + text + "]";
}

std::string text_of(const KernelOp& op, const Operands& operands) {
  return std::visit(KernelText{operands}, op);
}

std::string text_of(const FusedOp& op, const Operands& operands) {
  return std::visit(FusedText{operands}, op);
}

}  // namespace shardproof::plan
