// rearrange, read, write, concat, roll: the same entries in other places.
#include "spec/grad/pull.h"

namespace shardproof::grad {
namespace {

Type of_shape(const Shape& shape, Dtype dtype) {
  Type type;
  static_cast<Shape&>(type) = shape;
  type.dtype = dtype;
  return type;
}

/// What stands in `part` where `whole` has the dim at `bracket`: one entry, or those of a dim.
Ref count(Pull& p, const Shape& whole, size_t bracket, const Shape& part) {
  if (part.dims.size() < whole.dims.size()) return p.emit.number("1");
  return p.emit.size(part.dims.at(bracket).dim);
}

Ref read_at(Pull& p, Ref g, const Shape& whole, size_t bracket, const Shape& part, Ref at) {
  ir::Read read;
  read.pattern.left = {whole};
  read.pattern.left[0].marks = type_of(g).marks;
  read.pattern.left_bracket = bracket;
  read.pattern.right = part;
  read.pattern.right.marks = type_of(g).marks;
  return p.emit.op(std::move(read), {g, at});
}

Ref negative(Pull& p, Ref by) { return p.emit.unary(ir::UnaryFn::neg, by); }

}  // namespace

void pull(Pull& p, const ir::Rearrange& op) {
  const Ref g = p.g();
  ir::Rearrange back;
  back.pattern.left = {op.pattern.right};
  back.pattern.right = op.pattern.left[0];
  const Shape written = op.pattern.left[0];
  use_own_names(written, p.in(0).type, {&back.pattern.left[0], &back.pattern.right});
  back.pattern.left[0].marks = back.pattern.right.marks = type_of(g).marks;
  p.give(0, p.emit.op(std::move(back), {g}));
}

void pull(Pull& p, const ir::Read& op) {
  const Ref g = p.g();
  ir::Write write;
  write.pattern.left = {op.pattern.left[0], op.pattern.right};
  use_own_names(op.pattern.left[0], p.in(0).type, {&write.pattern.left[0], &write.pattern.left[1]});
  for (Shape& left : write.pattern.left) left.marks = type_of(g).marks;
  write.pattern.left_bracket = op.pattern.left_bracket;
  write.pattern.right = write.pattern.left[0];
  const Ref zeros = p.emit.zeros(of_shape(write.pattern.left[0], type_of(g).dtype));
  p.give(0, p.emit.op(std::move(write), {zeros, g, p.x(1)}));
}

void pull(Pull& p, const ir::Write& op) {
  const Ref g = p.g();
  const size_t bracket = op.pattern.left_bracket.value_or(0);
  if (p.wants(0)) {
    ir::Write write{op.pattern};
    for (Shape* shape : {&write.pattern.left[0], &write.pattern.left[1], &write.pattern.right})
      shape->marks = type_of(g).marks;
    const Ref zeros = p.emit.zeros(of_shape(write.pattern.left[1], type_of(g).dtype));
    p.give(0, p.emit.op(std::move(write), {g, zeros, p.x(2)}));
  }
  if (p.wants(1)) p.give(1, read_at(p, g, op.pattern.right, bracket, op.pattern.left[1], p.x(2)));
}

void pull(Pull& p, const ir::Concat& op) {
  const Ref g = p.g();
  const size_t bracket = op.pattern.right_bracket.value_or(0);
  Ref at = p.emit.number("0");
  for (size_t i = 0; i < op.pattern.left.size(); ++i) {
    const Shape& part = op.pattern.left[i];
    if (p.wants(i)) p.give(i, read_at(p, g, op.pattern.right, bracket, part, at));
    const Ref more = count(p, op.pattern.right, bracket, part);
    at = i == 0 ? more : p.emit.add(at, more);
  }
}

void pull(Pull& p, const ir::Roll& op) {
  ir::Roll back{op.pattern};
  back.pattern.left[0].marks = back.pattern.right.marks = type_of(p.g()).marks;
  p.give(0, p.emit.op(std::move(back), {p.g(), negative(p, p.x(1))}));
}

void pull(Pull& p, const ir::Ppermute& op) {
  ir::Ppermute back{op.pattern};
  back.pattern.left[0].marks = back.pattern.right.marks = type_of(p.g()).marks;
  if (op.pattern.left[0].dims[op.pattern.left_bracket.value_or(0)].axes.empty())
    return p.give(0, p.g());  // over an axis of size 1
  p.give(0, p.emit.op(std::move(back), {p.g(), negative(p, p.x(1))}));
}

}  // namespace shardproof::grad
