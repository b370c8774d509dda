#pragma once
// The choice among several ways to compute the same on a GPU, by a clock.
#include <cuda_runtime.h>

#include <functional>
#include <vector>

namespace shardproof {

/// The index of the candidate that took the least time, in seconds per launch, of several rounds in
/// which all take their turn: a GPU's clock falls while it works. A candidate gives work to the
/// stream and returns whether it could; at least one can. Throws DeviceError.
size_t fastest(const std::vector<std::function<bool(cudaStream_t)>>& candidates);

}  // namespace shardproof
