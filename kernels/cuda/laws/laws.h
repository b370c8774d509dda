#pragma once
// The law for a machine that runs the ops of kernels/ops.h: it computes the same as kernels/cpu. It
// uses no test framework, so it runs on a machine with a GPU and little else.
#include <functional>
#include <string>

#include "kernels/cuda/laws/cases.h"
#include "kernels/fault.h"

namespace shardproof::laws {

/// The machine under test.
struct KernelMachine {
  /// Allocates memory of the machine, aligned to 256 bytes.
  std::function<void*(size_t bytes)> allocate;
  std::function<void(void*)> release;
  std::function<void(void*to, const void*from, size_t bytes)> to_machine, from_machine;
  /// Runs an op to completion; returns its fault, if any.
  std::function<Fault(const KernelOp& op, void* out, const void* const* inputs)> run;
};

/// Runs one random op. Returns the difference as text; empty if there is none.
std::string broken(const KernelMachine& machine, OpKind kind, uint64_t seed);

/// Runs an op with invalid data. Returns how it failed to report that; empty if it did report it.
std::string unnoticed(const KernelMachine& machine, uint64_t seed);

using ReduceRanks = std::function<void(Element, Reduction, const void* const* sources, int n,
                                       void* out, size_t count)>;
/// The same for the sum, maximum or minimum over ranks: kernels/cpu/reduce_ranks.h.
std::string broken_ranks(const KernelMachine& machine, const ReduceRanks& reduce, uint64_t seed);

/// Parses the fault at the end of a message, as far as text(fault) states it. `taken` is unset if
/// there is none.
Fault fault_told(const std::string& message);

}  // namespace shardproof::laws
