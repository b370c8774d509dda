#pragma once
// Generates a CUDA kernel for one row-wise fused op: straight-line code in the loops of
// kernels/cuda/fused/row_kernel.h. nvrtc.h compiles it when a plan is prepared.
#include <string>

#include "kernels/row_phases.h"

namespace shardproof {

/// Source text with one or two `extern "C"` kernels whose parameter is a RowOperands. Launch them
/// with RowShape::threads per block, shape.blocks blocks (flat: any number) and
/// shape.shared_bytes(); then sum_columns adds the partial sums of outputs per column. Equal ops
/// give equal text.
struct GeneratedRows {
  std::string source;
  std::string name;       ///< works for any pointers
  std::string wide_name;  ///< needs takes_wide(); may be empty
  RowShape shape;
};

/// Requires fits(op).
GeneratedRows generate(const Rowwise& op);

}  // namespace shardproof
