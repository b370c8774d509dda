#pragma once
// A CUDA kernel for one row-wise fused op: straight-line code in the loops of
// kernels/cuda/fused/row_kernel.h, compiled by nvrtc.h when a plan is made.
#include <string>

#include "kernels/row_phases.h"

namespace shardproof {

/// A text with one or two kernels, `extern "C"`, whose parameter is a RowOperands. They are
/// launched with RowShape::threads a block, shape.blocks (flat: any number) and
/// shape.shared_bytes(); outputs per column are then what sum_columns makes of the partial sums.
/// The same op has the same text.
struct GeneratedRows {
  std::string source;
  std::string name;       ///< for any pointers
  std::string wide_name;  ///< where takes_wide() says so; or empty
  RowShape shape;
};

/// For an op that fits().
GeneratedRows generate(const Rowwise& op);

}  // namespace shardproof
