// sum, max, min over dims. A split dim leaves {U} for sum and {Max} for max; min needs it whole.
#include "spec/rules/pattern.h"
#include "spec/rules/product.h"
#include "spec/rules/split.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Reduce& op) {
  const bool sum = op.fn == ir::ReduceFn::sum;
  if (op.fn == ir::ReduceFn::min)
    for (const Label& label : labels(app, 0))
      if (!on_the_right(app, label.id))
        need_whole(app, 0, {shown(app, label.id), label.axes}, "E0208",
                   {"write -max(-x), and negate after the all_reduce of {Max}"});
  const Shape result =
      contract(app, {sum ? Role::factor : Role::argument}, sum ? Mark::U : Mark::Max);
  return one(conclude(app, result, op.to.value_or(app.type(0).dtype), app.has_gradient()));
}

}  // namespace shardproof::rules
