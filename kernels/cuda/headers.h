#pragma once
// The headers that generated kernels include, as text: NVRTC has no access to our files.
#include <string>
#include <utility>
#include <vector>

namespace shardproof {

/// (name, text) of spec/ir/pointwise.def and of the headers in kernels/, kernels/cuda and
/// kernels/cuda/fused.
const std::vector<std::pair<std::string, std::string>>& embedded_table();
const std::vector<std::pair<std::string, std::string>>& embedded_kernel_headers();
const std::vector<std::pair<std::string, std::string>>& embedded_cuda_headers();
const std::vector<std::pair<std::string, std::string>>& embedded_fused_headers();

}  // namespace shardproof
