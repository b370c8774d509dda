// write: x with y written into its bracketed dim, starting at `at`.
#include <algorithm>

#include "spec/rules/combine.h"
#include "spec/rules/labels.h"
#include "spec/rules/pattern.h"
#include "spec/rules/split.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Write&) {
  const Shape& x = app.pattern.left[0];
  const Shape& y = app.pattern.left[1];
  const Split& written = x.dims.at(app.pattern.left_bracket.value_or(0));
  need_whole(app, 0, written, "E0211");
  const std::vector<Label> whole = labels(app, 0);
  const std::vector<ir::Position>& part = app.pattern.indices.left[1];
  for (size_t i = 0; i < part.size(); ++i)
    if (!std::count(app.pattern.indices.left[0].begin(), app.pattern.indices.left[0].end(),
                    part[i]))
      need_whole(app, 1, y.dims[i], "E0211");
  for (const Label& label : labels(app, 1))
    if (const Label* same = find(whole, label.id); same && same->axes != label.axes)
      refuse(split_differently(app, 1, 0, label.id));
  need_copy(app, 2, "at=");
  Shape result = x;
  result.marks = combine(app, {Role::term, Role::term});
  const bool gradient = app.has_gradient(0) || app.has_gradient(1);
  return one(conclude(app, result, app.type(0).dtype, gradient));
}

}  // namespace shardproof::rules
