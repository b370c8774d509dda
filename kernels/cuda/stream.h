#pragma once
// Where a kernel is launched.
#ifndef __CUDACC_RTC__
#include <cstddef>
#endif

#include "kernels/fault.h"
#include "kernels/machine.h"

struct CUstream_st;

namespace shardproof::SHARDPROOF_MACHINE {

/// What Stream::scratch has room for.
constexpr size_t scratch_bytes = size_t{1} << 20;

/// A stream of CUDA; the emulator has none, and a launch returns when the kernel has run.
struct Stream {
  CUstream_st* handle = nullptr;
  Fault* fault = nullptr;  ///< where kernels report errors; never null when an op can fail
  int64_t step = 0;        ///< the number under which they report
  /// Of this stream alone: memory between the kernels of one op. Null: a sum of
  /// many terms is formed by fewer threads.
  void* scratch = nullptr;
};

}  // namespace shardproof::SHARDPROOF_MACHINE
