// cumsum, argsort, roll, rev, argmax, top_k: each needs a whole dim.
#include <algorithm>

#include "spec/rules/combine.h"
#include "spec/rules/labels.h"
#include "spec/rules/pattern.h"
#include "spec/rules/split.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Roll&) {
  need_whole(app, 0, app.pattern.left[0].dims.at(app.pattern.left_bracket.value_or(0)), "E0208",
             {"ppermute rolls a split dim by whole blocks"});
  need_copy(app, 1, "by=");
  Shape result = app.pattern.left[0];
  result.marks = combine(app, {Role::factor});
  return one(conclude(app, result, app.type(0).dtype, app.has_gradient(0)));
}

Types rule(Application& app, const ir::Rev&) {
  need_whole(app, 0, app.pattern.left[0].dims.at(app.pattern.left_bracket.value_or(0)), "E0208");
  Shape result = app.pattern.left[0];
  result.marks = combine(app, {Role::factor});
  return one(conclude(app, result, app.type(0).dtype, app.has_gradient(0)));
}

Types rule(Application& app, const ir::Ordered& op) {
  const bool integers = op.fn == ir::OrderedFn::argsort;
  if (integers) app.forget_gradients();
  need_whole(app, 0, app.pattern.left[0].dims.at(op.dim), "E0208");
  Shape result = app.pattern.left[0];
  result.marks = combine(app, {integers ? Role::argument : Role::factor});  // cumsum is linear
  return one(conclude(app, result, integers ? Dtype::i32 : app.type(0).dtype, app.has_gradient()));
}

/// The right side of an op that drops whole dims or creates new dims from them.
static Shape along_whole_dims(Application& app, const std::vector<std::string>& advices) {
  const std::vector<ir::Position>& positions = app.pattern.indices.left[0];
  for (size_t i = 0; i < positions.size(); ++i)
    if (!std::count(app.pattern.indices.right.begin(), app.pattern.indices.right.end(),
                    positions[i]))
      need_whole(app, 0, app.pattern.left[0].dims[i], "E0208", advices);
  Shape result = like_operand(app);
  result.marks = combine(app, {Role::argument});
  return result;
}

Types rule(Application& app, const ir::Argmax&) {
  app.forget_gradients();
  const Shape result = along_whole_dims(
      app, {"max over a split dim is {Max}: all_reduce it, and compare with the result"});
  return one(conclude(app, result, Dtype::i32, false));
}

Types rule(Application& app, const ir::TopK&) {
  const Type values =
      conclude(app, along_whole_dims(app, {}), app.type(0).dtype, app.has_gradient());
  Type indices = values;
  indices.dtype = Dtype::i32;
  indices.marks.clear();
  return {values, indices};
}

}  // namespace shardproof::rules
