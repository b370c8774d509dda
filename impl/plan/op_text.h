#pragma once
// Ops of a plan as text.
#include <functional>
#include <string>
#include <vector>

#include "kernels/fused.h"

namespace shardproof::plan {

/// `exp(%3 * 2)` for a fused elementwise kernel, `matmul(%1, %2) m=4 n=64 k=32`. `operands`: the
/// texts of the inputs.
std::string text_of(const KernelOp& op, const std::vector<std::string>& operands);
std::string text_of(const FusedOp& op, const std::vector<std::string>& operands);

/// `4 64`
std::string list_text(const std::vector<int64_t>& numbers);

}  // namespace shardproof::plan
