#pragma once
// Host-compiled kernels of generate.h: main.cpp writes those for the first seeds into a file that
// tests compile.
#include <cstdint>
#include <string>

#include "kernels/fault.h"

namespace shardproof::laws {

/// The number of compiled kernels, for seeds 0 and up.
constexpr uint64_t compiled_chains = 80;

/// A generated kernel that takes its arguments in an array; it computes all items.
using HostKernel = void (*)(void* out, const void* const* inputs, Fault* fault, int64_t step);

/// The kernel with this name; null if it was not compiled.
HostKernel host_kernel(const std::string& name);

}  // namespace shardproof::laws
