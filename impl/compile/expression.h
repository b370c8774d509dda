#pragma once
// Chains of pointwise ops that are computed in one pass over memory.
#include <memory>

#include "impl/compile/labels.h"
#include "kernels/ops.h"

namespace shardproof::compile {

struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

/// A leaf (a view with the labels of its dims), a constant, or a function of others. Its result is
/// rounded to `element`, if that is a float.
struct Expression {
  enum class Kind { leaf, constant, apply } kind = Kind::constant;
  Element element = Element::f64;
  Ref ref;        ///< leaf
  Labels labels;  ///< leaf: of its dims; apply: all that it has
  double value = 0;
  bool number = false;  ///< a constant without a dtype: it is what its neighbour is
  PointwiseFn fn = PointwiseFn::constant;
  bool real = true;  ///< apply: the arguments are floats
  std::string tag;
  std::vector<ExpressionPtr> arguments;
};

ExpressionPtr leaf_of(const Ref& ref, const Labels& labels);
ExpressionPtr constant_of(double value, Element element, bool number = false);
ExpressionPtr apply_to(PointwiseFn fn, bool real, Element element,
                       std::vector<ExpressionPtr> arguments, std::string tag = {});

/// How many ops it has.
size_t ops_of(const Expression& expression);

/// The chain as the kernel wants it, and the views that are its inputs.
struct Chain {
  Pointwise program;
  std::vector<Ref> inputs;
  std::vector<Labels> labels;
};
Chain chain_of(const ExpressionPtr& expression, Element output);

}  // namespace shardproof::compile
