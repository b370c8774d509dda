#pragma once
// Collectives that go on while the rank computes.
#include "impl/steps/schedule.h"

namespace shardproof::exec {

/// Reorders the steps of each block and says which collectives the communication thread runs, and
/// where they are waited for: before the first step that reads or overwrites what they touch, and
/// at the end of each iteration of a loop. A collective that is ready is begun before computation
/// that it does not depend on, at most two under way at a time, so that no more than that is
/// gathered ahead. Collectives keep their order, so that it is the same on every rank. To be called
/// before find_lifetimes.
void overlap(std::vector<Step>& steps);

/// Whether some step here or in a loop within is run by the communication thread.
bool has_starts(const std::vector<Step>& steps);

/// find_race of queues.h, of the steps' commands.
std::string find_race(const std::vector<Step>& steps, const std::vector<Piece>& pieces,
                      const std::vector<BufferId>& given,
                      const std::vector<std::pair<BufferId, BufferId>>& same = {});

}  // namespace shardproof::exec
