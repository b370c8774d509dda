// einsum, sum, max, min, expand: dims that vanish or are new.
#include <algorithm>

#include "spec/grad/pull.h"

namespace shardproof::grad {
namespace {

bool has_factors(const std::vector<Shape>& shapes, const Dim& dim) {
  return std::all_of(dim.factors.begin(), dim.factors.end(), [&](const Name& factor) {
    return std::any_of(shapes.begin(), shapes.end(), [&](const Shape& shape) {
      return std::any_of(shape.dims.begin(), shape.dims.end(), [&](const Split& split) {
        return std::count(split.dim.factors.begin(), split.dim.factors.end(), factor) > 0;
      });
    });
  });
}

/// The gradient of operand i: an einsum of g, which takes its place, with the other operands.
Ref product(Pull& p, const ir::Einsum& op, size_t i, Ref g) {
  ir::Einsum back;
  back.pattern.left = op.pattern.left;
  back.pattern.left[i] = op.pattern.right;
  std::vector<Ref> operands;
  for (size_t j = 0; j < op.pattern.left.size(); ++j) operands.push_back(j == i ? g : p.x(j));
  back.pattern.left[i].marks = type_of(g).marks;
  Shape whole = op.pattern.left[i];
  std::vector<Shape*> shapes{&whole};
  for (Shape& shape : back.pattern.left) shapes.push_back(&shape);
  use_own_names(op.pattern.left[i], p.in(i).type, shapes);
  whole.marks = p.dual(i).marks;
  back.pattern.right.marks = whole.marks;
  for (const Split& split : whole.dims)
    if (has_factors(back.pattern.left, split.dim)) back.pattern.right.dims.push_back(split);
  const Dtype to = p.in(i).gradient;
  if (to != type_of(operands[0]).dtype) back.to = to;
  const bool alone = operands.size() == 1 && back.pattern.right == back.pattern.left[0];
  const Ref made = alone ? g : p.emit.op(std::move(back), std::move(operands));
  return p.emit.expand(made, whole);
}

/// Where the largest entry of the one dim that vanishes is.
Ref hit(Pull& p, Ref x, const Shape& right, bool largest) {
  const Type type = type_of(x);
  size_t dim = 0;
  while (find(right, type.dims[dim].dim)) ++dim;
  ir::Argmax argmax;
  argmax.pattern.left = {type};
  argmax.pattern.right = right;
  const Ref where = p.emit.op(std::move(argmax), {largest ? x : p.emit.unary(ir::UnaryFn::neg, x)});
  Shape shape;
  shape.dims = type.dims;
  const Ref iota = p.emit.op(ir::Iota{ir::Created{shape, false, {}}, dim}, {});
  return p.emit.binary(ir::BinaryFn::eq, iota, where);
}

/// The dims that vanish, as the last one: the first of equal entries is then the lowest index of
/// all of them.
Ref merged(Pull& p, Ref x, const Shape& right) {
  Shape to = type_of(x);
  Split last;
  std::erase_if(to.dims, [&](const Split& split) {
    if (find(right, split.dim)) return false;
    last.dim.factors.insert(last.dim.factors.end(), split.dim.factors.begin(),
                            split.dim.factors.end());
    return true;
  });
  if (type_of(x).dims.size() == to.dims.size() + 1) return x;
  to.dims.push_back(last);
  ir::Rearrange merge;
  merge.pattern.left = {type_of(x)};
  merge.pattern.right = to;
  return p.emit.op(std::move(merge), {x});
}

void extreme(Pull& p, const ir::Reduce& op, Ref g) {
  for (const auto& [axis, mark] : p.out().type.marks)
    if (mark == Mark::Max) p.none("a maximum over " + axis);
  const Ref x = merged(p, p.x(0), op.pattern.right);
  const Type type = type_of(x);
  Shape right = type;
  std::erase_if(right.dims, [&](const Split& split) { return !find(op.pattern.right, split.dim); });
  const Ref at = hit(p, x, right, op.fn == ir::ReduceFn::max);
  const Ref whole = p.emit.where(at, p.emit.expand(g, type), p.emit.number("0"));
  if (x == p.x(0)) return p.give(0, whole);
  ir::Rearrange back;
  back.pattern.left = {type_of(whole)};
  back.pattern.right = type_of(p.x(0));
  back.pattern.right.marks = type_of(whole).marks;
  p.give(0, p.emit.op(std::move(back), {whole}));
}

}  // namespace

void pull(Pull& p, const ir::Einsum& op) {
  const Ref g = p.g();
  for (size_t i = 0; i < op.pattern.left.size(); ++i)
    if (p.wants(i)) p.give(i, product(p, op, i, p.emit.cast(g, p.in(i).type.dtype)));
}

void pull(Pull& p, const ir::Reduce& op) {
  if (op.fn != ir::ReduceFn::sum) return extreme(p, op, p.g());
  const Ref g = p.emit.cast(p.g(), p.in(0).type.dtype);
  p.give(0, p.emit.expand(g, op.pattern.left[0]));
}

void pull(Pull& p, const ir::Expand& op) {
  Shape right = op.pattern.left[0];
  right.marks = p.dual(0).marks;
  p.give(0, p.emit.sum(p.g(), right));
}

}  // namespace shardproof::grad
