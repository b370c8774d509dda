#pragma once
// Facts about index maps that give types their meaning, as obligations over symbolic sizes and
// device digits. They run spec/types/layout.h on terms: the map that the runtime uses.
#include <vector>

#include "spec/prove/obligation.h"
#include "spec/types/type.h"

namespace shardproof {

/// `M/t/d`: (device, local index) -> global index is one-to-one and onto. For a group, also: the
/// factors' digits give the row-major index.
std::vector<smt::Obligation> split_obligations(const Split& split);

/// A collective changes a dim's axes from `from` to `to`: its blocks go where the result's index
/// map says. Axes leave in order, last first, and join in order, first first. If they are not at
/// the end of the list, the claim is false and the solver refutes it.
std::vector<smt::Obligation> move_obligations(const std::string& collective, const Split& from,
                                              const Split& to);

/// ppermute by `by` over the first axis of the split rolls the dim by by*|D|/n.
smt::Obligation rotation_obligation(const Split& split);

/// rearrange: a group, and its factors as separate dims, give each entry the same device and
/// offset. `parts` are the dims on the other side with the group's factors and axes. The solver
/// refutes axes on any factor but the first.
smt::Obligation rearrange_obligation(const Split& group, const std::vector<Split>& parts);

}  // namespace shardproof
