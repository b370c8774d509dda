#pragma once
// Chains of pointwise ops that are computed in one pass over memory.
#include <memory>

#include "impl/compile/views.h"
#include "kernels/ops.h"

namespace shardproof::compile {

struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

/// A leaf (a view along positions of the chain's result), a constant, or a function of others. Its
/// result is rounded to `element`, if that is a float.
struct Expression {
  enum class Kind { leaf, constant, apply } kind = Kind::constant;
  Element element = Element::f64;
  View view;  ///< leaf
  double value = 0;
  bool number = false;  ///< a constant without a dtype: it is what its neighbour is
  PointwiseFn fn = PointwiseFn::constant;
  bool real = true;  ///< apply: the arguments are floats
  std::string tag;
  std::vector<ExpressionPtr> arguments;
};

ExpressionPtr leaf_of(const View& view);
ExpressionPtr constant_of(double value, Element element, bool number = false);
ExpressionPtr apply_to(PointwiseFn fn, bool real, Element element,
                       std::vector<ExpressionPtr> arguments, std::string tag = {});

/// The same along the positions of another result; `to`: where each of its own is there.
ExpressionPtr placed(const ExpressionPtr& expression, const Ids& to);

/// How many ops it has.
size_t ops_of(const Expression& expression);

/// The chain as the kernel wants it, and the views that are its inputs.
struct Chain {
  Pointwise program;
  std::vector<View> inputs;
};
Chain chain_of(const ExpressionPtr& expression, Element output);

}  // namespace shardproof::compile
