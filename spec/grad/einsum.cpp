// Gradients of einsum, sum, max, min, expand: ops that remove or add indices.
#include <algorithm>

#include "spec/grad/pull.h"

namespace shardproof::grad {
namespace {

bool contains(const std::vector<ir::IndexId>& ids, ir::IndexId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// The gradient of operand i: an einsum of g, in its place, with the other operands. An index that
/// only operand i has was summed: the gradient is constant along it.
Ref product(Pull& p, const ir::Indices& in, size_t i, Ref g) {
  std::vector<Ref> operands;
  ir::Indices back{in.all, in.left, {}};
  back.left[i] = in.right;
  for (size_t j = 0; j < in.left.size(); ++j) operands.push_back(j == i ? g : p.x(j));
  std::vector<ir::IndexId> has;
  for (const Positions& left : back.left)
    for (ir::IndexId id : flat(left)) has.push_back(id);
  const Type wanted = p.dual(i);
  const Positions made = kept(in.left[i], has);
  back.right = made;
  if (operands.size() > 1 || made != back.left[0]) {
    ir::Einsum einsum;
    const Dtype to = p.in(i).gradient;
    if (to != type_of(operands[0]).dtype) einsum.to = to;
    g = p.emit.op(std::move(einsum), back, std::move(operands),
                  regrouped(p.emit.graph.dims, in.all, made, in.left[i], wanted));
  }
  return p.emit.expand(in.all, g, made, in.left[i], wanted);
}

/// A mask of the largest entry along the position; `rest`: the other positions of x.
Ref hit(Pull& p, const ir::Indices& in, Ref x, size_t at, bool largest) {
  const Type type = type_of(x);
  Shape rest = type;
  rest.dims.erase(rest.dims.begin() + static_cast<std::ptrdiff_t>(at));
  const Ref where =
      p.emit.op(ir::Argmax{}, in, {largest ? x : p.emit.unary(ir::UnaryFn::neg, x)}, rest);
  Shape shape;
  shape.dims = type.dims;
  const Ref iota = p.emit.iota(shape, at);
  return p.emit.binary(ir::BinaryFn::eq, iota, p.emit.renamed(where, rest));
}

/// The removed indices as one position. If there are several, they become a group in their order,
/// as the last position: the first of equal entries is then the one with the lowest index.
void extreme(Pull& p, const ir::Indices& in, bool largest, Ref g) {
  const std::vector<ir::IndexId> kept = flat(in.right);
  ir::Position gone;
  for (ir::IndexId id : flat(in.left[0]))
    if (!contains(kept, id)) gone.push_back(id);
  Positions rest = in.left[0];
  std::erase(rest, gone);
  Positions merged = in.right;
  merged.push_back(gone);
  if (gone.empty()) return p.give(0, p.emit.rearrange(in.all, g, in.right, in.left[0], p.dual(0)));
  if (rest == in.right) merged = in.left[0];
  Ref x = p.x(0);
  const Type own = type_of(x);
  x = p.emit.rearrange(in.all, x, in.left[0], merged,
                       regrouped(p.emit.graph.dims, in.all, merged, in.left[0], own));
  const size_t at =
      static_cast<size_t>(std::find(merged.begin(), merged.end(), gone) - merged.begin());
  const Ref where = hit(p, {in.all, {merged}, in.right}, x, at, largest);
  Type type = type_of(x);
  type.marks = type_of(g).marks;
  const Ref whole = p.emit.renamed(p.emit.expand(in.all, g, in.right, merged, type), type);
  p.give(0, p.emit.rearrange(in.all, p.emit.where(where, whole, p.emit.number("0")), merged,
                             in.left[0], own));
}

bool is_maximum_over_axes(const Type& type) {
  return std::any_of(type.marks.begin(), type.marks.end(),
                     [](const auto& mark) { return mark.second == Mark::Max; });
}

/// The maximum of x over the indices that the result lacks, on all devices.
Ref greatest(Pull& p, const ir::Indices& in, Ref x) {
  Shape right = p.out().type;
  std::erase_if(right.marks, [](const auto& mark) { return mark.second != Mark::Max; });
  const Ref local = p.emit.op(ir::Reduce{ir::ReduceFn::max, {}, std::nullopt}, in, {x}, right);
  Shape whole = type_of(local);
  whole.marks.clear();
  return p.emit.collective(ir::CollectiveFn::all_reduce, local, whole);
}

/// The row-major index of each entry along the last `removed` positions, negated.
Ref negated_index(Pull& p, const Type& type, size_t removed) {
  Shape shape;
  shape.dims = type.dims;
  Ref index;
  for (size_t at = type.dims.size() - removed; at < type.dims.size(); ++at) {
    const Ref own = p.emit.iota(shape, at);
    index = index ? p.emit.add(p.emit.mul(index, p.emit.size(type.dims[at].dim)), own) : own;
  }
  return p.emit.unary(ir::UnaryFn::neg, index);
}

Ref number_of_entries(Pull& p, const Type& type, size_t removed) {
  Ref count;
  for (size_t at = type.dims.size() - removed; at < type.dims.size(); ++at) {
    const Ref size = p.emit.size(type.dims[at].dim);
    count = count ? p.emit.mul(count, size) : size;
  }
  return count;
}

/// The gradient of a maximum over a split dim. Its lowest index is a maximum as well: of the
/// negated indices of all entries that are the greatest.
void extreme_over_axes(Pull& p, const ir::Indices& in) {
  const std::vector<ir::IndexId> remaining = flat(in.right);
  Positions opened = in.right;
  for (ir::IndexId id : flat(in.left[0]))
    if (!contains(remaining, id)) opened.push_back({id});
  const size_t removed = opened.size() - in.right.size();
  Ref x = p.x(0);
  const Type own = type_of(x);
  x = p.emit.rearrange(in.all, x, in.left[0], opened,
                       regrouped(p.emit.graph.dims, in.all, opened, in.left[0], own));
  const Type type = type_of(x);
  const ir::Indices reduced{in.all, {opened}, in.right};
  const auto expanded = [&](Ref value) {
    Type to = type;
    to.marks = type_of(value).marks;
    return p.emit.renamed(p.emit.expand(in.all, value, in.right, opened, to), to);
  };
  const Ref negated = negated_index(p, type, removed);
  const Ref none = p.emit.unary(ir::UnaryFn::neg, number_of_entries(p, type, removed));
  const Ref largest = p.emit.binary(ir::BinaryFn::eq, x, expanded(greatest(p, reduced, x)));
  const Ref first = greatest(p, reduced, p.emit.where(largest, negated, none));
  const Ref selected = p.emit.binary(ir::BinaryFn::eq, negated, expanded(first));
  const Ref gradient = p.emit.where(selected, expanded(p.g()), p.emit.number("0"));
  p.give(0, p.emit.rearrange(in.all, gradient, opened, in.left[0], own));
}

}  // namespace

void pull(Pull& p, const ir::Einsum& op) {
  const Ref g = p.g();
  for (size_t i = 0; i < op.pattern.indices.left.size(); ++i)
    if (p.wants(i))
      p.give(i, product(p, op.pattern.indices, i, p.emit.cast(g, p.in(i).type.dtype)));
}

void pull(Pull& p, const ir::Reduce& op) {
  const ir::Indices& in = op.pattern.indices;
  if (op.fn == ir::ReduceFn::sum) {
    const Ref g = p.emit.cast(p.g(), p.in(0).type.dtype);
    return p.give(0, p.emit.expand(in.all, g, in.right, in.left[0], p.dual(0)));
  }
  if (is_maximum_over_axes(p.out().type)) return extreme_over_axes(p, in);
  extreme(p, in, op.fn == ir::ReduceFn::max, p.g());
}

void pull(Pull& p, const ir::Expand& op) {
  const ir::Indices& in = op.pattern.indices;
  p.give(0, p.emit.sum(in.all, p.g(), in.right, in.left[0], p.dual(0)));
}

}  // namespace shardproof::grad
