#include <algorithm>

#include "impl/plan/passes/passes.h"

namespace shardproof::plan {
namespace {

bool is_optimizer(const Step& step) {
  return step.fused && std::holds_alternative<AdamW>(step.fused->op);
}

/// out = x * number, in f32: the two inputs in that order.
std::optional<std::pair<Ref, Ref>> as_scaled(const Step& step) {
  const auto* chain = step.kernel ? std::get_if<Pointwise>(&step.kernel->op) : nullptr;
  const auto is_plain = [&](const Ref& ref) {
    return ref.element == Element::f32 && ref.contiguous() &&
           ref.count() == step.kernel->out.count();
  };
  if (!chain || chain->f64 || chain->inputs.size() != 2 || chain->steps.size() != 1 ||
      chain->steps[0].fn != PointwiseFn::mul || !chain->steps[0].real ||
      !is_plain(step.kernel->out))
    return std::nullopt;
  const Ref &a = step.kernel->inputs[0], &b = step.kernel->inputs[1];
  const auto is_number = [](const Ref& ref) {
    return ref.element == Element::f32 &&
           std::all_of(ref.strides.begin(), ref.strides.end(), [](int64_t s) { return s == 0; });
  };
  if (is_plain(a) && is_number(b)) return std::pair(a, b);
  if (is_plain(b) && is_number(a)) return std::pair(b, a);
  return std::nullopt;
}

/// The step that scales the gradient for the step `last`, if nothing else uses its buffer and no
/// step overwrites its factors before `last` reads them.
std::optional<size_t> scaled_for(const std::vector<Step>& steps, size_t last,
                                 const BufferUses& uses) {
  const BufferId gradient = steps[last].fused->inputs.at(1).buffer;
  if (uses.reads_of(gradient) != 1 || uses.writes_of(gradient) != 1) return std::nullopt;
  size_t made = 0;
  while (made < last && !has(steps[made].writes, gradient)) ++made;
  const auto factors = made < last ? as_scaled(steps[made]) : std::nullopt;
  if (!factors) return std::nullopt;
  for (size_t i = made + 1; i < last; ++i) {
    const std::vector<BufferId> written = access_of(steps[i]).writes;
    if (has(written, factors->first.buffer) || has(written, factors->second.buffer))
      return std::nullopt;
  }
  return made;
}

}  // namespace

void fold_scale(std::vector<Step>& steps, const std::vector<BufferId>& given) {
  if (!any_step(steps, is_optimizer)) return;
  const BufferUses uses(steps);
  for (size_t i = 0; i < steps.size(); ++i) {
    AdamW* op = is_optimizer(steps[i]) ? &std::get<AdamW>(steps[i].fused->op) : nullptr;
    if (!op || op->scale.is_input || op->scale.value != 1) continue;
    std::vector<Ref>& inputs = steps[i].fused->inputs;
    const std::optional<size_t> made = scaled_for(steps, i, uses);
    const bool is_whole = inputs[1].offset == 0 && inputs[1].terms.empty() && made &&
                          inputs[1].count() == steps[*made].kernel->out.count();
    if (has(given, inputs[1].buffer) || !is_whole) continue;
    auto [gradient, number] = as_scaled(steps[*made]).value();
    number.extents = number.strides = {};
    inputs[1] = gradient;
    inputs.push_back(number);
    op->scale = {0, true};
    steps[i].reads.clear();
    for (const Ref& each : inputs) steps[i].reads.push_back(each.buffer);
    steps.erase(steps.begin() + static_cast<ptrdiff_t>(*made));
    --i;
  }
}

}  // namespace shardproof::plan
