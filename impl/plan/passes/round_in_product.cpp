// Finds casts of given f32 arrays to bf16 that only matrix products read, and moves them there.
#include <algorithm>

#include "impl/plan/passes/passes.h"

namespace shardproof::plan {
namespace {

/// Whether the step stores all of an f32 array as bf16, in the same order.
bool is_cast(const Step& step) {
  const auto* chain = step.kernel ? std::get_if<Pointwise>(&step.kernel->op) : nullptr;
  if (!chain || chain->output != Element::bf16 || chain->inputs != std::vector{Element::f32} ||
      chain->steps.size() != 1 || chain->steps[0].fn != PointwiseFn::round_bf16)
    return false;
  const Ref &to = step.kernel->out, &from = step.kernel->inputs[0];
  return to.offset == 0 && to.terms.empty() && to.contiguous() && from.contiguous() &&
         to.count() == from.count();
}

/// The product that a step computes, or null.
const Matmul* product_of(const Step& step) {
  if (step.kernel) return std::get_if<Matmul>(&step.kernel->op);
  const auto* rounded = step.fused ? std::get_if<RoundedProduct>(&step.fused->op) : nullptr;
  return rounded ? &rounded->product : nullptr;
}

/// The same step with the operands that `cast` made read from where it read them.
Step with_rounding(const Step& step, const Kernel& cast) {
  Step made = step;
  RoundedProduct op{*product_of(step)};
  std::vector<Ref> inputs = step.kernel ? step.kernel->inputs : step.fused->inputs;
  const Ref& from = cast.inputs[0];
  made.reads.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].buffer == cast.out.buffer) {
      op.product.elements[1 + i] = Element::f32;
      inputs[i].buffer = from.buffer;
      inputs[i].element = Element::f32;
      inputs[i].offset += from.offset;
      inputs[i].terms.insert(inputs[i].terms.end(), from.terms.begin(), from.terms.end());
    }
    made.reads.push_back(inputs[i].buffer);
  }
  const Ref out = step.kernel ? step.kernel->out : step.fused->outputs[0];
  made.kernel.reset();
  made.fused = FusedKernel{op, {out}, inputs};
  return made;
}

class Rounding {
 public:
  Rounding(const std::vector<Step>& steps, const std::vector<BufferId>& given, const Device& device)
      : given_(given), device_(device), uses_(steps) {}

  void walk(std::vector<Step>& steps) {
    for (size_t i = 0; i < steps.size(); ++i) {
      walk(steps[i].body);
      if (is_cast(steps[i]) && move(steps, i))
        steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i--));
    }
  }

 private:
  /// Moves the cast at i into the products that read its result, if it has no other readers, and
  /// nothing overwrites its source before the last of them.
  bool move(std::vector<Step>& steps, size_t i) const {
    const Kernel cast = *steps[i].kernel;
    const BufferId from = cast.inputs[0].buffer, made = cast.out.buffer;
    if (!has(given_, from) || has(given_, made) || uses_.writes_of(made) != 1) return false;
    std::vector<std::pair<size_t, Step>> moved;
    for (size_t j = i + 1; j < steps.size() && moved.size() < uses_.reads_of(made); ++j) {
      if (reads(steps[j], made)) {
        const Matmul* product = product_of(steps[j]);
        if (!product || product->elements[0] == Element::f64 || steps[j].turn != steps[i].turn)
          return false;
        moved.emplace_back(j, with_rounding(steps[j], cast));
        if (!device_.has_fused(moved.back().second.fused->op)) return false;
      }
      if (writes(steps[j], from)) return false;
    }
    if (moved.empty() || moved.size() != uses_.reads_of(made)) return false;
    for (auto& [j, step] : moved) steps[j] = std::move(step);
    return true;
  }

  const std::vector<BufferId>& given_;
  const Device& device_;
  const BufferUses uses_;
};

}  // namespace

void round_in_product(std::vector<Step>& steps, const std::vector<BufferId>& given,
                      const Device& device) {
  if (any_step(steps, is_cast)) Rounding(steps, given, device).walk(steps);
}

}  // namespace shardproof::plan
