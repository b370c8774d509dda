// The same collective on another dim.
#include "properties/faults/collectives.h"

namespace shardproof::faults {

void other_dims(const Ground& ground, const Site& site, Faults& faults) {
  const ir::Collective* op = collective_at(site);
  if (!op) return;
  const Action action = action_of(op->pattern);
  for (size_t i = 0; i < action.added.size(); ++i)
    for (size_t j = 0; j < action.added.size(); ++j) {
      if (i == j || action.added[i].empty()) continue;
      Action other = action;
      std::swap(other.added[i], other.added[j]);
      add_collective(ground, site, Family::wrong_dim, op->fn, other, faults);
    }
}

}  // namespace shardproof::faults
