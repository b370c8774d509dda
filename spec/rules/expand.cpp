// expand: new dims; one that is split needs a copy on each device.
#include "spec/rules/combine.h"
#include "spec/rules/labels.h"
#include "spec/rules/pattern.h"
#include "spec/rules/split.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Expand&) {
  const std::vector<Label> known = labels(app.program, app.pattern.left[0]);
  const Marks marks = combine(app, {Role::factor});
  Shape result = place(app, app.pattern.right, [&](const Dim& dim, size_t factor) {
    if (const Label* label = find(known, dim.factors[factor])) return label->axes;
    if (factor != leading_factor(app.program, dim)) return std::vector<Axis>{};
    const std::vector<Axis> axes = find(app.pattern.right, dim)->axes;
    for (const Axis& axis : axes) need_copy_to_split(app, 0, axis);
    return axes;
  });
  result.marks = marks;
  return {conclude(app, result, app.type(0).dtype, app.has_gradient())};
}

}  // namespace shardproof::rules
