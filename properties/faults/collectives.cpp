#include "properties/faults/collectives.h"

#include <algorithm>

namespace shardproof::faults {

std::string shown(const ir::Collective& op) {
  return std::string(ir::name_of(op)) + " \"" + to_string(op.pattern.left.at(0)) + " -> " +
         to_string(op.pattern.right) + "\"";
}

namespace {

bool same(const ir::Collective& a, const ir::Collective& b) {
  return a.fn == b.fn && a.pattern.right == b.pattern.right;
}

}  // namespace

void add_collective(const Ground& ground, const Site& site, Family family, ir::CollectiveFn fn,
                    const Action& action, Faults& faults) {
  const ir::Collective& original = *collective_at(site);
  const Type& operand = ground.type(site.instr->operands.at(0));
  const ir::Collective other{fn, applied(action, operand, original.pattern)};
  const bool known =
      same(other, original) || std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
        return fault.at == site.at && !fault.end && fault.instead.size() == 1 &&
               std::holds_alternative<ir::Collective>(fault.instead[0].op) &&
               same(other, std::get<ir::Collective>(fault.instead[0].op));
      });
  if (known) return;
  faults.push_back(with_op(site, family, shown(other) + " for " + shown(original), other));
}

}  // namespace shardproof::faults
