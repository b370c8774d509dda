#pragma once
// Fused elementwise and row-wise kernels as expressions.
#include <string>
#include <vector>

#include "kernels/rowwise.h"

namespace shardproof::plan {

/// `let a = %3 * %4; a / (1 + exp(-a))`: an op with several readers has a name.
std::string chain_text(const Pointwise& op, const std::vector<std::string>& operands);
/// Its outputs in order, those per column as `column_sum(..)`.
std::string chain_text(const Rowwise& op, const std::vector<std::string>& operands);

}  // namespace shardproof::plan
