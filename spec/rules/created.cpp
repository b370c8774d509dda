// iota, uniform, normal, zeros: each device creates its own part of one global tensor.
#include "spec/rules/fixes.h"
#include "spec/rules/labels.h"
#include "spec/rules/table.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

/// Axes taken from the operands after the real ones, one per dim that takes its axes from an
/// operand.
Shape inferred(const Application& app, const ir::Created& created, size_t next) {
  Shape shape = created.shape;
  shape.marks.clear();
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    shape.dims[i].axes.clear();
    if (i >= created.axes_from.size() || created.axes_from[i] == ir::no_value) continue;
    if (next >= app.operands.size()) break;
    if (const Split* split = find(app.type(next++), shape.dims[i].dim))
      shape.dims[i].axes = split->axes;
  }
  return shape;
}

Type create(Application& app, const ir::Created& created, size_t operands, Dtype dtype) {
  Type type;
  type.dtype = dtype;
  static_cast<Shape&>(type) = created.inferred ? inferred(app, created, operands) : created.shape;
  app.guess = {type};
  if (auto refusal = axis_twice(app.program, type)) {
    refusal->message = app.name + ": " + refusal->message;
    refuse(std::move(*refusal));
  }
  return type;
}

void need_no_mark(const Application& app, const Type& type, Mark allowed) {
  for (const auto& [axis, mark] : type.marks) {
    if (mark == Mark::I || mark == allowed) continue;
    refuse({.code = "E0302",
            .message = app.name + " is a copy on each device of " + axis + ", not " +
                       to_string(Marks{{axis, mark}}),
            .label = "each device of " + axis + " makes the whole value: their sum would be |" +
                     axis + "| times it",
            .fixes = {advice("remove " + to_string(Marks{{axis, mark}}) +
                             ", and count it once with zero_nonroot")},
            .axes = {axis}});
  }
}

}  // namespace

Types rule(Application& app, const ir::Iota& op) {
  const Type type = create(app, op.created, 0, Dtype::i32);
  need_no_mark(app, type, Mark::I);
  return {type};
}

Types rule(Application& app, const ir::Random& op) {
  const Type type = create(app, op.created, 1, Dtype::f32);
  need_no_mark(app, type, Mark::I);
  need_copy(app, 0, "the key");
  return {type};
}

Types rule(Application& app, const ir::Zeros& op) {  // 0 is the sum of zeros
  const Type type = create(app, op.created, 0, op.dtype);
  need_no_mark(app, type, Mark::U);
  return {type};
}

}  // namespace shardproof::rules
