#pragma once
// NVRTC, CUDA's compiler as a library: it needs neither a GPU nor nvcc.
#include <string>

namespace shardproof {

/// The library's name and version, or empty where there is none.
std::string nvrtc_version();

/// The cubin of a text of generate.h for an architecture ("sm_90"). Throws std::runtime_error with
/// the compiler's log, or naming the library that is missing.
std::string nvrtc_compile(const std::string& source, const std::string& architecture);

}  // namespace shardproof
