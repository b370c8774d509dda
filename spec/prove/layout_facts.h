#pragma once
// What index maps must be for a plan to mean what its types say, as obligations over symbolic sizes
// and device digits: with spec/types/layout.h run on terms, so that it is the running code's map.
#include <vector>

#include "spec/prove/obligation.h"
#include "spec/types/type.h"

namespace shardproof {

/// `M/t/d`: (device, local index) -> global index hits each entry of M once. For a group also that
/// the factors' digits give the row-major index.
std::vector<smt::Obligation> split_obligations(const Split& split);

/// A dim whose axes change from `from` to `to` by a collective: its blocks go where the result's
/// index map says. Axes leave one at a time, the last listed first, and come one at a time, the
/// first first; where they are not the last of the list the claim is false, and refuted.
std::vector<smt::Obligation> move_obligations(const std::string& collective, const Split& from,
                                              const Split& to);

/// ppermute by `by` over the first axis of the split: the dim rolled by by*|D|/n.
smt::Obligation rotation_obligation(const Split& split);

/// rearrange: a group and its factors as dims of their own give each entry the same place. `parts`
/// are the dims of the other side that have the group's factors; their axes are taken as they are,
/// so that axes on another factor than the first are refuted.
smt::Obligation rearrange_obligation(const Split& group, const std::vector<Split>& parts);

}  // namespace shardproof
