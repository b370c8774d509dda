// concat: the operands one after the other along a whole dim.
#include "spec/rules/combine.h"
#include "spec/rules/pattern.h"
#include "spec/rules/split.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Concat&) {
  const ir::Pattern& pattern = app.pattern;
  const Dim joined = pattern.right.dims.at(pattern.right_bracket.value_or(0)).dim;
  Shape result = pattern.right;
  result.marks.clear();
  for (Split& split : result.dims) {
    const Split* first = find(pattern.left[0], split.dim);
    split.axes = first && split.dim != joined ? first->axes : std::vector<Axis>{};
  }
  for (size_t i = 0; i < pattern.left.size(); ++i)
    for (const Split& split : pattern.left[i].dims) {
      const Split* shared = find(result, split.dim);
      if (!shared || split.dim == joined)
        need_whole(app, i, split, "E0208");
      else if (shared->axes != split.axes)
        refuse(split_differently(app, i, 0, split.dim.factors.front()));
    }
  result.marks = combine(app, std::vector<Role>(app.operands.size(), Role::term));
  return {conclude(app, result, common_dtype(app), app.has_gradient())};
}

}  // namespace shardproof::rules
