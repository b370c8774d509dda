#pragma once
// The launch arguments of kernels/cuda/fused/row_kernel.h.
#include <algorithm>

#include "kernels/cuda/row_operands.h"
#include "kernels/row_phases.h"

namespace shardproof::SHARDPROOF_MACHINE {

/// The op's operands; the scratch, if any, follows its outputs.
inline RowOperands row_operands(const Stream& stream, const Rowwise& op, const RowShape& shape,
                                void* const* outputs, const void* const* inputs) {
  RowOperands operands{};
  std::copy_n(inputs, op.inputs.size(), operands.inputs);
  std::copy_n(outputs, op.outputs.size(), operands.outputs);
  if (shape.columns) operands.partials = static_cast<float*>(outputs[op.outputs.size()]);
  operands.report = report_to(stream);
  return operands;
}

inline bool takes_wide(const Rowwise& op, const RowShape& shape, const RowOperands& operands) {
  return takes_wide(op, shape, operands.outputs, operands.inputs, operands.partials);
}

}  // namespace shardproof::SHARDPROOF_MACHINE
