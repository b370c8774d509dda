#pragma once
// Kernels of generate.h as the host's compiler makes them: main.cpp writes them, for the chains of
// the first seeds, into a text that tests compile.
#include <cstdint>
#include <string>

#include "kernels/fault.h"

namespace shardproof::laws {

/// The number of chains that are compiled, those of the seeds 0 and up.
constexpr uint64_t compiled_chains = 80;

/// A generated kernel with its arguments in an array; it does all items at once.
using HostKernel = void (*)(void* out, const void* const* inputs, Fault* fault, int64_t step);

/// By name; null where it is none of those that were compiled.
HostKernel host_kernel(const std::string& name);

}  // namespace shardproof::laws
