#include "impl/plan/passes/chain.h"

#include <algorithm>
#include <optional>

namespace shardproof::plan {
namespace {

/// The inputs whose sum is the register, with multiplicity; none for any other computation.
/// Rounding to the inputs' own element is allowed.
std::optional<std::vector<size_t>> summands(const Pointwise& chain, size_t at) {
  if (at < chain.inputs.size()) return std::vector{at};
  const PointwiseStep& step = chain.steps[at - chain.inputs.size()];
  const bool rounds = step.fn == PointwiseFn::round_f32 ||
                      (step.fn == PointwiseFn::round_bf16 && chain.output == Element::bf16);
  if (!rounds && step.fn != PointwiseFn::add) return std::nullopt;
  std::vector<size_t> all;
  for (size_t argument : step.arguments) {
    const auto own = summands(chain, argument);
    if (!own) return std::nullopt;
    all.insert(all.end(), own->begin(), own->end());
  }
  return all;
}

}  // namespace

bool adds_all(const Step& step) {
  const auto* chain = step.kernel ? std::get_if<Pointwise>(&step.kernel->op) : nullptr;
  if (!chain || chain->inputs.size() < 2 || !step.kernel->out.contiguous()) return false;
  for (Element element : chain->inputs)
    if (element != chain->output) return false;
  for (const std::vector<int64_t>& strides : chain->nest.strides)
    if (strides != std::vector<int64_t>{1}) return false;
  auto all = summands(*chain, chain->result());
  if (!all || all->size() != chain->inputs.size()) return false;
  std::sort(all->begin(), all->end());
  for (size_t i = 0; i < all->size(); ++i)
    if ((*all)[i] != i) return false;
  return true;
}

}  // namespace shardproof::plan
