// write: x with y in its bracketed dim from `at` on.
#include "spec/rules/combine.h"
#include "spec/rules/pattern.h"
#include "spec/rules/split.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Write&) {
  const Shape& x = app.pattern.left[0];
  const Shape& y = app.pattern.left[1];
  const Split& written = x.dims.at(app.pattern.left_bracket.value_or(0));
  need_whole(app, 0, written, "E0211");
  for (const Split& split : y.dims) {
    const Split* same = find(x, split.dim);
    if (!same || same == &written)
      need_whole(app, 1, split, "E0211");
    else if (same->axes != split.axes)
      refuse(split_differently(app, 1, 0, split.dim.factors.front()));
  }
  need_copy(app, 2, "at=");
  Shape result = x;
  result.marks = combine(app, {Role::term, Role::term});
  const bool gradient = app.operands[0].has_gradient || app.operands[1].has_gradient;
  return {conclude(app, result, app.type(0).dtype, gradient)};
}

}  // namespace shardproof::rules
