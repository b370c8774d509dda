#pragma once
// Kernels of trusted plans from shared objects.
#include "impl/beside_oracle/random_cases.h"

namespace shardproof::check_sharding {

/// The function `name` of the shared object (impl/check_sharding/kernel.h), which stays loaded.
/// Throws std::runtime_error where there is none. The kernel itself throws beside::KernelFault for
/// a code other than 0, an input that it changed, and writes around its outputs; an entry that it
/// does not write is no number.
beside::Kernel load_kernel(const std::string& name, const std::string& path);

}  // namespace shardproof::check_sharding
