#pragma once
// The ops of a training step against what the processor could do at best.
#include "impl/compile/compile_plan.h"

namespace shardproof::bench {

/// FLOP/s of large products of square matrices, by all threads of the pool.
double rate_of_products(Element element);

/// Prints, for each op of the plan on one rank: milliseconds a step (the least of `runs`), GFLOP/s,
/// GB/s, and the share of its limit, which is the longer of its products at the rate of large
/// products and its operands at the bandwidth of one large copy, both measured in the same run.
/// Then the pointwise kernels that take longest, each alone, with its strides and its value.
void print_limits(Plan& plan, std::vector<LocalTensor>& tensors, Precision precision, int runs);

}  // namespace shardproof::bench
