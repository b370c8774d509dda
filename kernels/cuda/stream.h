#pragma once
// The stream on which a kernel is launched.
#ifndef __CUDACC_RTC__
#include <cstddef>
#endif

#include "kernels/fault.h"
#include "kernels/machine.h"

struct CUstream_st;

namespace shardproof::SHARDPROOF_MACHINE {

/// The size of Stream::scratch.
constexpr size_t scratch_bytes = size_t{1} << 20;

/// A CUDA stream. In the emulator a launch returns after the kernel has run.
struct Stream {
  CUstream_st* handle = nullptr;
  Fault* fault = nullptr;  ///< where kernels report errors; not null if an op can fail
  int64_t step = 0;        ///< the launch number that reports contain
  /// Memory of this stream for data between the kernels of one op. Null: fewer threads form a sum
  /// of many terms.
  void* scratch = nullptr;
};

}  // namespace shardproof::SHARDPROOF_MACHINE
