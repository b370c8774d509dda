#pragma once
// Fused chains of pointwise ops, computed in one pass over memory.
#include <memory>

#include "impl/compile/views.h"
#include "kernels/ops.h"

namespace shardproof::compile {

struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

/// A leaf (a view along positions of the chain's result), a constant, or a function of others. The
/// result is rounded to `element` if that is a float.
struct Expression {
  enum class Kind { leaf, constant, apply } kind = Kind::constant;
  Element element = Element::f64;
  View view;  ///< of a leaf
  double value = 0;
  bool number = false;  ///< a constant without a dtype: takes that of the other operand
  PointwiseFn fn = PointwiseFn::constant;
  bool real = true;  ///< apply: the arguments are floats
  std::string tag;
  std::vector<ExpressionPtr> arguments;
};

ExpressionPtr leaf_of(View view);
ExpressionPtr constant_of(double value, Element element, bool number = false);
ExpressionPtr apply_to(PointwiseFn fn, bool real, Element element,
                       std::vector<ExpressionPtr> arguments, std::string tag = {});

/// The expression along the positions of another result; `to`: the new position of each own one.
ExpressionPtr placed(const ExpressionPtr& expression, const Ids& to);

/// The number of ops in it.
size_t ops_of(const Expression& expression);

/// The chain as a kernel op, and the views that are its inputs.
struct Chain {
  Pointwise program;
  std::vector<View> inputs;
};
Chain chain_of(const ExpressionPtr& expression, Element output);

}  // namespace shardproof::compile
