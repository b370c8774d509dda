#pragma once
// The headers that generated kernels include, as text: NVRTC reads no files of ours.
#include <string>
#include <utility>
#include <vector>

namespace shardproof {

/// (name, text) of spec/ir/pointwise.def, and of the headers of kernels/, of kernels/cuda and of
/// kernels/cuda/fused.
const std::vector<std::pair<std::string, std::string>>& embedded_table();
const std::vector<std::pair<std::string, std::string>>& embedded_kernel_headers();
const std::vector<std::pair<std::string, std::string>>& embedded_cuda_headers();
const std::vector<std::pair<std::string, std::string>>& embedded_fused_headers();

}  // namespace shardproof
