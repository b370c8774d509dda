#pragma once
// Parts that the families of collectives share.
#include "properties/faults/action.h"
#include "properties/faults/families.h"

namespace shardproof::faults {

/// The collective at the site, or null.
inline const ir::Collective* collective_at(const Site& site) {
  return site.instr ? std::get_if<ir::Collective>(&site.instr->op) : nullptr;
}

/// `psum_scatter "B L M {U_t} -> B L M/t"`
std::string shown(const ir::Collective& op);

/// Adds the fault that the site's collective is another: nothing where it is the same one or is in
/// the list already.
void add_collective(const Ground& ground, const Site& site, Family family, ir::CollectiveFn fn,
                    const Action& action, Faults& faults);

}  // namespace shardproof::faults
