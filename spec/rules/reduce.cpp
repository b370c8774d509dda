// sum, max, min over the dims that vanish. A split one leaves {U} or {Max}; for min it is whole.
#include "spec/rules/pattern.h"
#include "spec/rules/product.h"
#include "spec/rules/split.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

static bool vanishes(const Shape& right, const Name& name) {
  for (const Split& split : right.dims)
    for (const Name& factor : split.dim.factors)
      if (factor == name) return false;
  return true;
}

Types rule(Application& app, const ir::Reduce& op) {
  const bool sum = op.fn == ir::ReduceFn::sum;
  Contraction all = contraction(app, {sum ? Role::factor : Role::argument});
  all.contracted = sum ? Mark::U : Mark::Max;
  if (op.fn == ir::ReduceFn::min)
    for (const Label& label : all.operands.front())
      if (vanishes(app.pattern.right, label.name))
        need_whole(app, 0, {Dim{{label.name}}, label.axes}, "E0208",
                   {"write -max(-x), negated after the all_reduce of {Max}"});
  return {conclude(app, contract(app, all), op.to.value_or(app.type(0).dtype), app.has_gradient())};
}

}  // namespace shardproof::rules
