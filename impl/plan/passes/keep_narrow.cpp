// Finds f32 buffers that only hold bf16 values, and whose readers accept bf16.
#include "impl/plan/passes/chain.h"
#include "impl/plan/passes/passes.h"
#include "kernels/bf16.h"

namespace shardproof::plan {
namespace {

/// Whether every result of the chain is a bf16 number, for any inputs.
bool makes_bf16(const Pointwise& chain) {
  if (chain.output != Element::f32 || chain.f64) return false;
  const size_t result = chain.result(), inputs = chain.inputs.size();
  if (result < inputs) return chain.inputs[result] == Element::bf16;
  const PointwiseStep& last = chain.steps[result - inputs];
  const auto value = static_cast<float>(last.value);
  return last.fn == PointwiseFn::round_bf16 ||
         (last.fn == PointwiseFn::constant && last.value == value &&
          rounded_to_bf16(value) == value);
}

/// The gradient in the optimizer and in the norm may be bf16.
bool may_be_narrow(const FusedOp& op, size_t input) {
  return (input == 0 && std::holds_alternative<SumSquares>(op)) ||
         (input == 1 && std::holds_alternative<AdamW>(op));
}

bool uses_f32_or_bf16(const Step& step) {
  bool any = false;
  for_each_ref(step, [&](const Ref& ref) {
    any = any || ref.element == Element::f32 || ref.element == Element::bf16;
  });
  return any;
}

/// The buffers that may be bf16: starts with all f32 buffers and removes some until none changes.
class NarrowBuffers {
 public:
  NarrowBuffers(const std::vector<Step>& steps, size_t buffers, const std::vector<BufferId>& given)
      : narrow_(buffers) {
    for_each_step(steps, [&](const Step& step) {
      for_each_ref(step, [&](const Ref& ref) {
        if (ref.element == Element::f32) narrow_.at(ref.buffer) = true;
      });
    });
    for (BufferId id : given) remove(id);
    for_each_step(steps, [&](const Step& step) { look_at(step); });
    // Source and destination of a copy are both narrow, or neither.
    for (bool found = true; found;) {
      found = false;
      for (const auto& [a, b] : copies_)
        if (has(a) != has(b)) {
          remove(has(a) ? a : b);
          found = true;
        }
    }
  }
  bool has(BufferId id) const { return narrow_.at(id); }

 private:
  void remove(BufferId id) { narrow_.at(id) = false; }

  /// Collectives and host code need their operands as they are. A loop is examined step by
  /// step.
  void look_at(const Step& step) {
    for_each_ref(step, [&](const Ref& ref) {
      if (ref.element != Element::f32) remove(ref.buffer);
    });
    if (step.kernel) return look_at(*step.kernel);
    if (step.fused) return look_at(*step.fused);
    if (step.is_loop) return;
    for (const std::vector<BufferId>* ids : {&step.reads, &step.writes})
      for (BufferId id : *ids) remove(id);
  }

  void look_at(const Kernel& kernel) {
    const auto* chain = std::get_if<Pointwise>(&kernel.op);
    if (std::holds_alternative<Zero>(kernel.op) || (chain && makes_bf16(*chain))) return;
    if (std::holds_alternative<Copy>(kernel.op)) {
      copies_.emplace_back(kernel.out.buffer, kernel.inputs.at(0).buffer);
      return;
    }
    remove(kernel.out.buffer);
    for (const Ref& input : kernel.inputs)
      if (!chain) remove(input.buffer);
  }

  void look_at(const FusedKernel& kernel) {
    for (const Ref& output : kernel.outputs) remove(output.buffer);
    for (size_t i = 0; i < kernel.inputs.size(); ++i)
      if (!may_be_narrow(kernel.op, i)) remove(kernel.inputs[i].buffer);
  }

  std::vector<bool> narrow_;
  std::vector<std::pair<BufferId, BufferId>> copies_;
};

/// Whether the chain passes bf16 numbers on unchanged.
bool is_copy(const Pointwise& chain) {
  if (chain.inputs != std::vector{Element::bf16} || chain.output != Element::bf16) return false;
  size_t at = chain.result();
  while (at > 0 && chain.steps[at - 1].fn == PointwiseFn::round_bf16)
    at = chain.steps[at - 1].arguments[0];
  return at == 0;
}

void narrow(Kernel& kernel, const NarrowBuffers& buffers) {
  const bool out = buffers.has(kernel.out.buffer);
  if (auto* copy = std::get_if<Copy>(&kernel.op); copy && out) copy->bytes /= 2;
  if (auto* zero = std::get_if<Zero>(&kernel.op); zero && out) zero->bytes /= 2;
  auto* chain = std::get_if<Pointwise>(&kernel.op);
  if (!chain) return;
  for (size_t i = 0; i < kernel.inputs.size(); ++i)
    if (buffers.has(kernel.inputs[i].buffer)) chain->inputs[i] = Element::bf16;
  if (out) chain->output = Element::bf16;
  if (is_copy(*chain)) kernel.op = Copy{Nest(chain->nest), size_of(Element::bf16)};
}

void narrow(FusedKernel& kernel, const NarrowBuffers& buffers) {
  if (auto* squares = std::get_if<SumSquares>(&kernel.op);
      squares && buffers.has(kernel.inputs.at(0).buffer))
    squares->element = Element::bf16;
  if (auto* adamw = std::get_if<AdamW>(&kernel.op);
      adamw && buffers.has(kernel.inputs.at(1).buffer))
    adamw->gradient = Element::bf16;
}

void narrow(std::vector<Step>& steps, const NarrowBuffers& buffers) {
  for (Step& step : steps) {
    if (step.kernel) narrow(*step.kernel, buffers);
    if (step.fused) narrow(*step.fused, buffers);
    for_each_ref(step, [&](Ref& ref) {
      if (buffers.has(ref.buffer)) ref.element = Element::bf16;
    });
    narrow(step.body, buffers);
  }
}

}  // namespace

void keep_narrow(std::vector<Step>& steps, std::vector<Piece>& pieces,
                 const std::vector<BufferId>& given) {
  if (!any_step(steps, uses_f32_or_bf16)) return;
  const NarrowBuffers buffers(steps, pieces.size(), given);
  narrow(steps, buffers);
  for (BufferId id = 0; id < pieces.size(); ++id)
    if (buffers.has(id)) pieces[id].bytes /= 2;
}

}  // namespace shardproof::plan
