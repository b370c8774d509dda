#pragma once
// Generates a CUDA kernel for one fused pointwise op over one nest: straight-line code over
// kernels/cuda/pointwise_fns.h. nvrtc.h compiles it when a plan is prepared.
#include <string>

#include "kernels/ops.h"

namespace shardproof {

/// Source text with one or two `extern "C"` kernels (void* out, const void* in0, .., Fault*
/// fault, int64_t step): see fault.h and Stream. Launch them with `threads` per block and any
/// number of blocks; the blocks divide `items` or `wide_items` among themselves. Equal ops give
/// equal text.
struct Generated {
  std::string source;
  std::string name;       ///< works for any pointers
  std::string wide_name;  ///< 16 bytes per thread; needs pointers aligned to 16; may be empty
  int64_t items = 0, wide_items = 0;
  static constexpr int threads = 256;
};

Generated generate(const Pointwise& op);

}  // namespace shardproof
