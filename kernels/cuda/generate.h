#pragma once
// A CUDA kernel for one fused pointwise op over one nest: straight-line code over
// kernels/cuda/pointwise_fns.h, compiled by nvrtc.h when a plan is made.
#include <string>

#include "kernels/ops.h"

namespace shardproof {

/// A text with one or two kernels, `extern "C"`, whose parameters are
///   void* out, const void* in0, .., Fault* fault, int64_t step
/// (fault.h; Stream). They are launched with `threads` a block and any number of blocks: each
/// shares out its items, `items` or `wide_items`. The same op has the same text.
struct Generated {
  std::string source;
  std::string name;       ///< for any pointers
  std::string wide_name;  ///< 16 bytes a thread, where all pointers are multiples of 16; or empty
  int64_t items = 0, wide_items = 0;
  static constexpr int threads = 256;
};

Generated generate(const Pointwise& op);

}  // namespace shardproof
