// Another collective over the same axes.
#include "properties/faults/collectives.h"

namespace shardproof::faults {
namespace {

using ir::CollectiveFn;

/// Nothing happens to `dims` dims.
Action nothing(size_t dims) {
  return {std::vector<std::vector<Axis>>(dims), std::vector<std::vector<Axis>>(dims), {}};
}

Action marked(size_t dims, const std::vector<Axis>& axes, std::optional<Mark> mark) {
  Action action = nothing(dims);
  for (const Axis& axis : axes) action.marks[axis] = mark;
  return action;
}

/// The axes leave whatever dims they are at the end of.
Action taken_away(size_t dims, const std::vector<Axis>& axes, std::optional<Mark> mark) {
  Action action = marked(dims, axes, mark);
  for (auto& removed : action.removed) removed = axes;
  return action;
}

Action brought(Action action, size_t dim, const std::vector<Axis>& axes) {
  action.added[dim] = axes;
  for (const Axis& axis : axes) action.marks[axis] = std::nullopt;
  return action;
}

}  // namespace

void exchange_collectives(const Ground& ground, const Site& site, Faults& faults) {
  const ir::Collective* op = collective_at(site);
  if (!op) return;
  const size_t dims = op->pattern.right.dims.size();
  const std::vector<Axis> axes = action_of(op->pattern).axes();
  const auto add = [&](CollectiveFn fn, const Action& action) {
    if (fn != op->fn) add_collective(ground, site, Family::exchange_collective, fn, action, faults);
  };
  add(CollectiveFn::all_gather, taken_away(dims, axes, std::nullopt));
  add(CollectiveFn::all_reduce, marked(dims, axes, std::nullopt));
  add(CollectiveFn::fan_out, marked(dims, axes, std::nullopt));
  add(CollectiveFn::zero_nonroot, marked(dims, axes, Mark::U));
  add(CollectiveFn::zero_pad, taken_away(dims, axes, Mark::U));
  for (size_t i = 0; i < dims; ++i) {
    add(CollectiveFn::psum_scatter, brought(nothing(dims), i, axes));
    add(CollectiveFn::slice, brought(nothing(dims), i, axes));
    add(CollectiveFn::all_to_all, brought(taken_away(dims, axes, std::nullopt), i, axes));
  }
}

}  // namespace shardproof::faults
