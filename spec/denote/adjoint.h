#pragma once
// The adjoint of an op that each device applies to its own arrays: what the backward of an op
// without communication computes.
#include "spec/denote/trial.h"

namespace shardproof::denote {

/// The gradient of operand i on each device, from the gradient of result 0 on each device: the
/// transpose of the device's own map. Throws Unsupported if the op is not linear in operand i.
template <class S>
Distributed<S> local_adjoint(const Trial& trial, const Values<S>& operands,
                             const std::vector<Type>& results, size_t i,
                             const Distributed<S>& gradient);

/// The same for whole tensors.
template <class S>
Array<S> whole_adjoint(const Trial& trial, const Values<S>& operands,
                       const std::vector<Type>& results, size_t i, const Array<S>& gradient);

/// Whether the operand has a gradient.
inline bool takes_gradient(const Input& input) {
  return input.has_gradient && is_float(input.type.dtype) && !input.number;
}

}  // namespace shardproof::denote
