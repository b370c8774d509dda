// concat: joins the operands along a whole dim.
#include <algorithm>

#include "spec/rules/combine.h"
#include "spec/rules/labels.h"
#include "spec/rules/pattern.h"
#include "spec/rules/split.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Concat&) {
  Shape result = like_operand(app);
  const std::vector<Label> first = labels(app, 0);
  for (size_t i = 0; i < app.pattern.indices.left.size(); ++i) {
    const std::vector<ir::Position>& positions = app.pattern.indices.left[i];
    for (size_t k = 0; k < positions.size(); ++k)
      if (!std::count(app.pattern.indices.right.begin(), app.pattern.indices.right.end(),
                      positions[k]))
        need_whole(app, i, app.pattern.left[i].dims[k], "E0208");
    for (const Label& label : labels(app, i))
      if (const Label* same = find(first, label.id); same && same->axes != label.axes)
        refuse(split_differently(app, i, 0, label.id));
  }
  result.marks = combine(app, std::vector<Role>(app.operands.size(), Role::term));
  return one(conclude(app, result, common_dtype(app), app.has_gradient()));
}

}  // namespace shardproof::rules
