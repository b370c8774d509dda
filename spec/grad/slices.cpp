// Gradients of rearrange, read, write, concat, roll, rev: ops that move entries.
#include "spec/grad/pull.h"

namespace shardproof::grad {
namespace {

/// zeros of a type with g's marks and dtype.
Ref zeros_like(Pull& p, Type type, Ref g) {
  type.dtype = type_of(g).dtype;
  type.marks = type_of(g).marks;
  return p.emit.zeros(type);
}

Shape with_marks(Shape shape, const Marks& marks) {
  shape.marks = marks;
  return shape;
}

/// Reads from g, with positions `whole`, the part at `at` that came from operand i.
void read_at(Pull& p, Ref g, size_t i, const ir::Indices& in, const Positions& whole,
             size_t bracket, Ref at) {
  ir::Read read;
  read.pattern.left_bracket = bracket;
  p.give(i, p.emit.op(std::move(read), {in.all, {whole}, in.left[i]}, {g, at},
                      with_marks(p.dual(i), type_of(g).marks)));
}

Ref negative(Pull& p, Ref by) { return p.emit.unary(ir::UnaryFn::neg, by); }

/// The number of entries of operand i along the position `bracket`: its size, or one.
Ref count(Pull& p, const ir::Indices& in, size_t i, size_t bracket) {
  if (in.left[i].size() < in.right.size()) return p.emit.number("1");
  return p.emit.size(p.in(i).type.dims.at(bracket).dim);
}

}  // namespace

void pull(Pull& p, const ir::Rearrange& op) {
  const ir::Indices& in = op.pattern.indices;
  p.give(0, p.emit.rearrange(in.all, p.g(), in.right, in.left[0], p.dual(0)));
}

void pull(Pull& p, const ir::Read& op) {
  const Ref g = p.g();
  const ir::Indices& in = op.pattern.indices;
  ir::Write write;
  write.pattern.left_bracket = op.pattern.left_bracket;
  const Ref zeros = zeros_like(p, p.in(0).type, g);
  p.give(0, p.emit.op(std::move(write), {in.all, {in.left[0], in.right}, in.left[0]},
                      {zeros, g, p.x(1)}, type_of(zeros)));
}

void pull(Pull& p, const ir::Write& op) {
  const Ref g = p.g();
  const ir::Indices& in = op.pattern.indices;
  const size_t bracket = op.pattern.left_bracket.value();
  if (p.wants(0)) {
    ir::Write write;
    write.pattern.left_bracket = bracket;
    p.give(0, p.emit.op(std::move(write), in, {g, zeros_like(p, p.in(1).type, g), p.x(2)},
                        with_marks(p.dual(0), type_of(g).marks)));
  }
  if (p.wants(1)) read_at(p, g, 1, in, in.right, bracket, p.x(2));
}

void pull(Pull& p, const ir::Concat& op) {
  const Ref g = p.g();
  const ir::Indices& in = op.pattern.indices;
  const size_t bracket = op.pattern.right_bracket.value();
  Ref at = p.emit.number("0");
  for (size_t i = 0; i < in.left.size(); ++i) {
    if (p.wants(i)) read_at(p, g, i, in, in.right, bracket, at);
    const Ref more = count(p, in, i, bracket);
    at = i == 0 ? more : p.emit.add(at, more);
  }
}

void pull(Pull& p, const ir::Roll& op) {
  const Ref g = p.g();
  ir::Roll back;
  back.pattern.left_bracket = op.pattern.left_bracket;
  back.pattern.right_bracket = op.pattern.right_bracket;
  p.give(0, p.emit.op(std::move(back), op.pattern.indices, {g, negative(p, p.x(1))},
                      with_marks(p.dual(0), type_of(g).marks)));
}

namespace {

Ref reversed(Pull& p, const ir::Indices& in, size_t position, Ref x) {
  ir::Rev rev;
  rev.pattern.left_bracket = rev.pattern.right_bracket = position;
  return p.emit.op(std::move(rev), in, {x}, with_marks(p.dual(0), type_of(x).marks));
}

}  // namespace

void pull(Pull& p, const ir::Rev& op) {
  p.give(0, reversed(p, op.pattern.indices, op.pattern.left_bracket.value(), p.g()));
}

/// Entry i of a cumsum contains every entry up to i: the gradient is a cumsum from the other end.
void pull(Pull& p, const ir::Ordered& op) {
  if (op.fn != ir::OrderedFn::cumsum) return p.none(ir::name_of(ir::Op(op)));
  const ir::Indices& in = op.pattern.indices;
  const Ref g = reversed(p, in, op.dim, p.g());
  ir::Ordered cumsum{ir::OrderedFn::cumsum, {}, op.dim};
  p.give(0, reversed(p, in, op.dim, p.emit.op(std::move(cumsum), in, {g}, type_of(g))));
}

void pull(Pull& p, const ir::Ppermute& op) {
  const Ref g = p.g();
  const size_t bracket = op.pattern.left_bracket.value();
  if (p.in(0).type.dims[bracket].axes.empty()) return p.give(0, g);  // over an axis of size 1
  ir::Ppermute back;
  back.pattern.left_bracket = back.pattern.right_bracket = bracket;
  p.give(0, p.emit.op(std::move(back), op.pattern.indices, {g, negative(p, p.x(1))},
                      with_marks(p.dual(0), type_of(g).marks)));
}

}  // namespace shardproof::grad
