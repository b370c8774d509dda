#pragma once
// In which order a block's collectives are begun.
#include <deque>

#include "impl/plan/steps.h"

namespace shardproof::plan {

/// At most so many gathers are ahead of what needs them, so that no more than that is kept.
constexpr size_t most_gathered_ahead = 2;

/// Worth waiting for: a collective does not take it along when it is moved.
bool is_heavy(const Step& step);

/// The collectives and the loops that communicate, by their places in the block: the order of the
/// program, but that gathers of what no computation of the block makes (the weights of the next
/// layer) come before the reductions that end the layer before. It is made of what depends on what,
/// so that it is the same on every rank where the steps are `alike`; otherwise that of the program.
std::deque<size_t> order_of_collectives(const std::vector<Step>& steps,
                                        const std::vector<Access>& access, bool alike);

}  // namespace shardproof::plan
