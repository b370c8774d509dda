#include <algorithm>

#include "impl/plan/memory.h"

namespace shardproof::plan {
namespace {

bool is_by_entry(const FusedOp& op, size_t input, size_t output) {
  const auto* rows = std::get_if<Rowwise>(&op);
  return std::holds_alternative<AdamW>(op) ||
         (rows && rows->inputs.at(input).per == Per::entry && output < rows->outputs.size() &&
          rows->outputs[output].per == Per::entry);
}

/// The optimizer and row-wise kernels read the entries that they are about to write, and no others.
bool fused_entry_by_entry(const FusedKernel& kernel, BufferId kept, BufferId made) {
  size_t output = 0;
  while (kernel.outputs[output].buffer != made) ++output;
  const Ref& out = kernel.outputs[output];
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    const Ref& input = kernel.inputs[i];
    if (input.buffer == kept &&
        !(is_by_entry(kernel.op, i, output) && input.element == out.element &&
          input.count() == out.count() && input.offset == out.offset && input.terms.empty() &&
          out.terms.empty()))
      return false;
  }
  return true;
}

/// Whether the loop iteration that writes an entry of `made` is the one that reads the same entry
/// of `kept`.
bool entry_by_entry(const Step& step, BufferId kept, BufferId made) {
  if (step.fused) return fused_entry_by_entry(*step.fused, kept, made);
  if (!step.kernel) return false;
  const auto* op = std::get_if<Pointwise>(&step.kernel->op);
  if (!op) return false;
  const Ref& out = step.kernel->out;
  for (size_t i = 0; i < step.kernel->inputs.size(); ++i) {
    const Ref& input = step.kernel->inputs[i];
    if (input.buffer == kept &&
        (input.element != out.element || input.offset != out.offset || !input.terms.empty() ||
         !out.terms.empty() || op->nest.strides.at(i + 1) != op->nest.strides.at(0)))
      return false;
  }
  return true;
}

}  // namespace

bool may_share(const std::vector<Step>& steps, BufferId kept, BufferId made) {
  size_t first_write = steps.size(), last_use = 0;
  bool used = false, under_way = false;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Access access = access_of(steps[i]);
    if (steps[i].waits == 0u) under_way = false;
    if (first_write == steps.size() && has(access.writes, made)) {
      if (under_way) return false;
      first_write = i;
    }
    if (has(access.writes, kept)) return false;
    if (!has(access.reads, kept)) continue;
    used = true;
    last_use = i;
    under_way = under_way || steps[i].starts;
  }
  if (!used || last_use < first_write) return true;
  return last_use == first_write && entry_by_entry(steps[last_use], kept, made);
}

}  // namespace shardproof::plan
