#pragma once
// The FLOPs and bytes of a plan's steps, for benches that compare their times with a limit.
#include "impl/plan/steps.h"

namespace shardproof::bench {

/// The FLOPs of a product or of attention, which a causal mask halves; 0 for other steps, and for a
/// loop.
double flops_of(const plan::Step& step);
/// The FLOPs of all steps, loops included.
double flops_of(const std::vector<plan::Step>& steps);

/// Each operand once, without scratch, bytes that only the kernel knows: one at best has no need of
/// it.
double bytes_of(const plan::Step& step);

}  // namespace shardproof::bench
