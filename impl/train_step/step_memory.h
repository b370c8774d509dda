#pragma once
#include <cstddef>

namespace shardproof {

/// Bytes of one rank on a GPU. Not among them: what CUDA and the libraries take for themselves.
struct StepMemory {
  size_t inputs = 0;   ///< state and data
  size_t results = 0;  ///< those that take no parameter's place
  size_t between = 0;  ///< all else, where it is the most: saved, gathered, gradients, scratch
  size_t bytes() const { return inputs + results + between; }
};

}  // namespace shardproof
