// The same collective over another axis, over one axis fewer, or with its axes in another order.
#include <algorithm>

#include "properties/faults/collectives.h"

namespace shardproof::faults {
namespace {

void exchange(std::vector<Axis>& axes, const Axis& from, const std::optional<Axis>& to) {
  auto found = std::find(axes.begin(), axes.end(), from);
  if (found == axes.end()) return;
  if (to)
    *found = *to;
  else
    axes.erase(found);
}

/// The action with `to` where it has `from`, or with nothing there.
Action exchanged(Action action, const Axis& from, const std::optional<Axis>& to) {
  for (auto* lists : {&action.removed, &action.added})
    for (auto& list : *lists) exchange(list, from, to);
  auto mark = action.marks.extract(from);
  if (!mark.empty() && to) {
    mark.key() = *to;
    action.marks.insert(std::move(mark));
  }
  return action;
}

}  // namespace

void other_axes(const Ground& ground, const Site& site, Faults& faults) {
  const ir::Collective* op = collective_at(site);
  if (!op) return;
  const Action action = action_of(op->pattern);
  const std::vector<Axis> axes = action.axes();
  const auto add = [&](Family family, const Action& other) {
    add_collective(ground, site, family, op->fn, other, faults);
  };
  for (const Axis& from : axes) {
    for (const Axis& to : ground.axes)
      if (std::find(axes.begin(), axes.end(), to) == axes.end())
        add(Family::wrong_axis, exchanged(action, from, to));
    if (axes.size() > 1) add(Family::wrong_axis, exchanged(action, from, std::nullopt));
  }
  for (size_t i = 0; i < action.added.size(); ++i) {
    Action other = action;
    std::vector<Axis>& order = other.added[i];
    std::sort(order.begin(), order.end());
    do add(Family::wrong_order, other);
    while (std::next_permutation(order.begin(), order.end()));
  }
}

}  // namespace shardproof::faults
