#pragma once
// Fused elementwise and row-wise kernels as expressions.
#include <string>
#include <vector>

#include "kernels/rowwise.h"

namespace shardproof::plan {

/// `let a = %3 * %4; a / (1 + exp(-a))`: a value with several readers gets a name.
std::string chain_text(const Pointwise& op, const std::vector<std::string>& operands);
/// The outputs in order; outputs per column as `column_sum(..)`.
std::string chain_text(const Rowwise& op, const std::vector<std::string>& operands);

}  // namespace shardproof::plan
