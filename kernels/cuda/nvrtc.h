#pragma once
// NVRTC, CUDA's compiler as a library. It needs neither a GPU nor nvcc.
#include <string>

namespace shardproof {

/// The library's name and version; empty if it is not installed.
std::string nvrtc_version();

/// Compiles a text of generate.h for an architecture such as "sm_90" and returns the cubin. Throws
/// std::runtime_error with the compiler's log, or with the name of the missing library.
std::string nvrtc_compile(const std::string& source, const std::string& architecture);

}  // namespace shardproof
