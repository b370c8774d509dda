#pragma once
// The headers that generated kernels include, as text: NVRTC reads no files of ours.
#include <string>
#include <utility>
#include <vector>

namespace shardproof {

/// (name, text) of the headers of kernels/ and of kernels/cuda.
const std::vector<std::pair<std::string, std::string>>& embedded_kernel_headers();
const std::vector<std::pair<std::string, std::string>>& embedded_cuda_headers();

}  // namespace shardproof
