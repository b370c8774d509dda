#pragma once
// Where a kernel is launched.
#include "kernels/cuda/machine.h"
#include "kernels/fault.h"

struct CUstream_st;

namespace shardproof::SHARDPROOF_MACHINE {

/// A stream of CUDA; in a rehearsal there is none, and a launch returns when the kernel has run.
struct Stream {
  CUstream_st* handle = nullptr;
  Fault* fault = nullptr;  ///< where kernels leave what is wrong; never null when an op can fail
  int64_t step = 0;        ///< what they call themselves there
};

}  // namespace shardproof::SHARDPROOF_MACHINE
