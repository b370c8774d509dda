#pragma once
#include <nlohmann/json.hpp>

#include "properties/bench/step_cost.h"

namespace shardproof::bench {

/// The peak rates of a GPU.
struct Speed {
  double flops_per_s = 0, bytes_per_s = 0;
};

/// {"seconds", "kernels", "bytes", "flops", "most": [..]}: the time of a plan whose every kernel
/// takes as long as reading and writing its operands once, or as its FLOPs, whichever is more. The
/// `most` costly, by op and place. A plan is no faster than that: what is above it is the kernels',
/// what is in it is the plan's.
nlohmann::json ceiling(const std::vector<plan::Step>& steps, const Speed& speed);

}  // namespace shardproof::bench
