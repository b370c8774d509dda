#pragma once
// The host as a machine for laws.h: its memory, and emulated kernels.
#include "kernels/cuda/laws/laws.h"

namespace shardproof::laws {

KernelMachine host_machine(
    std::function<Fault(const KernelOp& op, void* out, const void* const* inputs)> run);

}  // namespace shardproof::laws
