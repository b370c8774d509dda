// read, and t[n]: entries of a whole dim, at an offset that is the same on all devices.
#include <algorithm>

#include "spec/rules/combine.h"
#include "spec/rules/labels.h"
#include "spec/rules/pattern.h"
#include "spec/rules/split.h"
#include "spec/rules/table.h"
#include "spec/rules/words.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Read&) {
  const size_t bracket = app.pattern.left_bracket.value_or(0);
  need_whole(app, 0, app.pattern.left[0].dims.at(bracket), "E0211");
  need_copy(app, 1, "at=");
  Shape result = like_operand(app);
  result.marks = combine(app, {Role::factor});
  return one(conclude(app, result, app.type(0).dtype, app.has_gradient(0)));
}

Types rule(Application& app, const ir::Entry& op) {
  Type result = app.type(0);
  std::erase_if(result.dims, [&](const Split& split) { return split.dim == op.dim; });
  app.guess = {result};
  if (const Split* split = find(app.type(0), op.dim)) need_whole(app, 0, *split, "E0211");
  need_copy(app, 1, "the index");
  result.marks = combine(app, {Role::factor});
  return one(std::move(result));
}

}  // namespace shardproof::rules
