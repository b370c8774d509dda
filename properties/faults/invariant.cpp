// A collective that says R where its result is I, or the other way.
#include "properties/faults/collectives.h"

namespace shardproof::faults {

void invariant_copies(const Ground& ground, const Site& site, Faults& faults) {
  const ir::Collective* op = collective_at(site);
  if (!op) return;
  const Action action = action_of(op->pattern);
  const std::vector<Axis> split = split_axes(op->pattern.right);
  for (const Axis& axis : ground.axes) {
    if (std::find(split.begin(), split.end(), axis) != split.end()) continue;
    const auto found = op->pattern.right.marks.find(axis);
    const bool copy = found == op->pattern.right.marks.end();
    if (!copy && found->second != Mark::I) continue;
    Action other = action;
    other.marks[axis] = copy ? std::optional(Mark::I) : std::nullopt;
    add_collective(ground, site, Family::invariant, op->fn, other, faults);
  }
}

}  // namespace shardproof::faults
