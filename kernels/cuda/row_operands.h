#pragma once
// The argument of a kernel of kernels/cuda/fused/row_kernel.h.
#include "kernels/cuda/report.h"

namespace shardproof::SHARDPROOF_MACHINE {

struct RowOperands {
  const void* inputs[24];
  void* outputs[8];
  float* partials;  ///< f32[outputs per column, blocks, length]
  Report report;
};

}  // namespace shardproof::SHARDPROOF_MACHINE
