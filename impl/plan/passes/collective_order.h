#pragma once
// The order in which the collectives of a block start.
#include <deque>

#include "impl/plan/steps.h"

namespace shardproof::plan {

/// The maximum number of gathers that run ahead of their readers; it bounds their memory.
constexpr size_t most_gathered_ahead = 2;

/// Whether the step is expensive: moving a collective earlier does not move this step with it.
bool is_heavy(const Step& step);

/// The collectives and communicating loops of a block, as indices into it. Program order, except
/// that gathers of values that the block does not compute (the weights of the next layer) come
/// before the reductions at the end of the previous layer. It depends only on data dependences, so
/// it is the same on every rank if the steps are `alike`; otherwise it is program order.
std::deque<size_t> order_of_collectives(const std::vector<Step>& steps,
                                        const std::vector<Access>& access, bool alike);

}  // namespace shardproof::plan
