// A collective is left out, or done twice.
#include "properties/faults/collectives.h"

namespace shardproof::faults {

void drop_collectives(const Ground& ground, const Site& site, Faults& faults) {
  const ir::Collective* op = collective_at(site);
  if (!op) return;
  const ir::ValueId operand = site.instr->operands.at(0), result = site.instr->results.at(0);
  if (ground.alike(operand, result))
    faults.push_back(passed_on(site, Family::drop_collective, shown(*op) + " dropped", operand));
  if (ground.alike(operand, result))
    faults.push_back(followed_by(ground, site, Family::duplicate_collective, shown(*op) + " twice",
                                 {}, *op, {ir::no_value}));
}

}  // namespace shardproof::faults
