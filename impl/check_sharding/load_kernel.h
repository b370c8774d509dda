#pragma once
// Kernels of trusted plans from shared objects.
#include "impl/beside_oracle/random_cases.h"

namespace shardproof::check_sharding {

/// Loads the function `name` from a shared object (impl/check_sharding/kernel.h), which stays
/// loaded. Throws std::runtime_error if it does not exist. The kernel throws beside::KernelFault
/// for a nonzero return code, a changed input, or a write around its outputs. Entries that it does
/// not write stay NaN.
beside::Kernel load_kernel(const std::string& name, const std::string& path);

}  // namespace shardproof::check_sharding
