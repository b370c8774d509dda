// Gradients of collectives: they depend on the state of the result, R or I.
#include <algorithm>

#include "spec/grad/pull.h"

namespace shardproof::grad {
namespace {

using Fn = ir::CollectiveFn;

bool is(const Type& type, const Axis& axis, Mark mark) {
  const auto found = type.marks.find(axis);
  return found != type.marks.end() && found->second == mark;
}

/// The axes of each dim of `more` that follow those of the same dim in `less`.
std::vector<Axis> gone(const Split& more, const Split& less) {
  return {more.axes.begin() + static_cast<std::ptrdiff_t>(less.axes.size()), more.axes.end()};
}

/// The type of g with the operand's names.
Shape renamed(Pull& p, Ref g) {
  Shape right = type_of(g);
  for (size_t d = 0; d < right.dims.size(); ++d) right.dims[d].dim = p.in(0).type.dims[d].dim;
  return right;
}

/// From g, which has the result's dims, to the operand's type: axes return in list order. If the
/// result is R on an axis, scatters (reduces); if it is I, slices.
void split_again(Pull& p, Ref g) {
  const Type &from = p.in(0).type, &to = p.out().type;
  std::vector<std::pair<size_t, Axis>> axes;
  for (size_t d = 0; d < from.dims.size(); ++d)
    for (const Axis& axis : gone(from.dims[d], to.dims[d])) axes.emplace_back(d, axis);
  // Adjacent axes of one kind share a collective.
  for (size_t i = 0; i < axes.size();) {
    const bool copy = is(to, axes[i].second, Mark::I);
    Shape right = renamed(p, g);
    for (; i < axes.size() && is(to, axes[i].second, Mark::I) == copy; ++i) {
      right.dims[axes[i].first].axes.push_back(axes[i].second);
      right.marks.erase(axes[i].second);
    }
    g = p.emit.collective(copy ? Fn::slice : Fn::psum_scatter, g, right);
  }
  p.give(0, g);
}

/// To fewer axes, last one first: if the operand is R on an axis, pads with zeros; if it is I,
/// gathers.
void join_again(Pull& p, Ref g, bool sums) {
  const Type &from = p.in(0).type, &to = p.out().type;
  std::vector<std::pair<size_t, Axis>> axes;
  for (size_t d = from.dims.size(); d-- > 0;) {
    std::vector<Axis> added = gone(to.dims[d], from.dims[d]);
    for (size_t i = added.size(); i-- > 0;) axes.emplace_back(d, added[i]);
  }
  const auto gathers = [&](const Axis& axis) { return sums || is(from, axis, Mark::I); };
  for (size_t i = 0; i < axes.size();) {
    const bool gather = gathers(axes[i].second);
    Shape right = renamed(p, g);
    for (; i < axes.size() && gathers(axes[i].second) == gather; ++i) {
      right.dims[axes[i].first].axes.pop_back();
      if (!gather) right.marks[axes[i].second] = Mark::U;
    }
    g = p.emit.collective(gather ? Fn::all_gather : Fn::zero_pad, g, right);
  }
  p.give(0, g);
}

/// all_reduce and fan_out: reduces over the axes on which g is a sum and the operand's gradient is
/// not. The gradient of a {Max} is whole.
void reduce_again(Pull& p, Ref g) {
  Shape right = renamed(p, g);
  right.marks = p.dual(0).marks;
  p.give(0, p.emit.collective(Fn::all_reduce, g, right));
}

/// zero_nonroot: keeps the gradient of a copy on device 0; that of an I is already right.
void keep_again(Pull& p, Ref g) {
  Shape right = renamed(p, g);
  right.marks = p.dual(0).marks;
  p.give(0, p.emit.collective(Fn::zero_nonroot, g, right));
}

void exchange_again(Pull& p, Ref g) {
  Shape right = renamed(p, g);
  for (size_t d = 0; d < right.dims.size(); ++d) right.dims[d].axes = p.in(0).type.dims[d].axes;
  p.give(0, p.emit.collective(Fn::all_to_all, g, right));
}

/// zero_pad: takes the device's part of the whole gradient.
void part_again(Pull& p, Ref g) {
  Shape right = renamed(p, g);
  for (size_t d = 0; d < right.dims.size(); ++d) right.dims[d].axes = p.in(0).type.dims[d].axes;
  p.give(0, p.emit.collective(Fn::slice, g, right));
}

}  // namespace

void pull(Pull& p, const ir::Collective& op) {
  const Ref g = p.g();
  switch (op.fn) {
    case Fn::all_gather:
      return split_again(p, g);
    case Fn::all_reduce:
    case Fn::fan_out:
      return reduce_again(p, g);
    case Fn::psum_scatter:
      return join_again(p, g, true);
    case Fn::slice:
      return join_again(p, g, false);
    case Fn::all_to_all:
      return exchange_again(p, g);
    case Fn::zero_nonroot:
      return keep_again(p, g);
    case Fn::zero_pad:
      return part_again(p, g);
  }
}

/// A field that is R on a marked axis was kept on device 0 only.
void pull(Pull& p, const ir::Total&) {
  const Ref g = p.g();
  for (size_t i = 0; i < p.taped.operands.size(); ++i) {
    if (!p.wants(i)) continue;
    Shape right = type_of(g);
    right.marks = p.dual(i).marks;
    p.give(i, p.emit.collective(Fn::zero_nonroot, g, right));
  }
}

}  // namespace shardproof::grad
