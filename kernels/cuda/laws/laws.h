#pragma once
// The law of a machine that runs the ops of kernels/ops.h: it computes what kernels/cpu does. It
// has no test framework, so that it runs on a machine with a GPU and little else.
#include <functional>
#include <string>

#include "kernels/cuda/laws/cases.h"
#include "kernels/fault.h"

namespace shardproof::laws {

/// The machine under test.
struct KernelMachine {
  /// Memory of the machine, aligned to 256 bytes.
  std::function<void*(size_t bytes)> allocate;
  std::function<void(void*)> release;
  std::function<void(void*to, const void*from, size_t bytes)> to_machine, from_machine;
  /// Returns when the op is done, with the fault that it left, if it did.
  std::function<Fault(const KernelOp& op, void* out, const void* const* inputs)> run;
};

/// Empty, or what differs: of one random op.
std::string broken(const KernelMachine& machine, OpKind kind, uint64_t seed);

/// Empty, or how an op with wrong data failed to report it.
std::string unnoticed(const KernelMachine& machine, uint64_t seed);

using ReduceRanks = std::function<void(Element, Reduction, const void* const* sources, int n,
                                       void* out, size_t count)>;
/// Of the sum, maximum or minimum over ranks: kernels/cpu/reduce_ranks.h.
std::string broken_ranks(const KernelMachine& machine, const ReduceRanks& reduce, uint64_t seed);

/// The fault that a message ends with, as far as text(fault) tells it; not `taken` where it ends
/// with none.
Fault fault_told(const std::string& message);

}  // namespace shardproof::laws
