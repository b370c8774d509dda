#pragma once
// Two tensors that are compared, with their index variables in the same order.
#include "spec/lower/lower.h"

namespace shardproof::lower {

/// Whether they have as many indices, with the same ranges.
bool same_ranges(algebra::Algebra& a, const TensorExpr& plan, const TensorExpr& model);

/// The plan's tensor with the model's index variables. Throws std::logic_error if their numbers
/// differ.
algebra::Nf aligned(algebra::Algebra& a, const TensorExpr& plan, const TensorExpr& model);

}  // namespace shardproof::lower
