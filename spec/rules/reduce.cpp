// sum, max, min over dims. A split dim leaves {U} for sum and {Max} for max; min needs it whole.
#include "spec/rules/pattern.h"
#include "spec/rules/product.h"
#include "spec/rules/split.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

std::vector<Role> roles(const ir::Reduce& op) {
  return {op.fn == ir::ReduceFn::sum ? Role::factor : Role::argument};
}

Types rule(Application& app, const ir::Reduce& op) {
  if (op.fn == ir::ReduceFn::min)
    for (const Label& label : labels(app, 0))
      if (!on_the_right(app, label.id))
        need_whole(app, 0, {shown(app, label.id), label.axes}, "E0208",
                   {"write -max(-x), and negate after the all_reduce of {Max}"});
  const Mark contracted = op.fn == ir::ReduceFn::sum ? Mark::U : Mark::Max;
  const Shape result = contract(app, roles(op), contracted);
  return one(conclude(app, result, op.to.value_or(app.type(0).dtype), app.has_gradient()));
}

}  // namespace shardproof::rules
