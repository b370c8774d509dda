#include "properties/bench/step_cost.h"

namespace shardproof::bench {
namespace {

double flops_of(const Matmul& product) {
  return 2.0 * static_cast<double>(product.batch.count() * product.m * product.n * product.k);
}

/// What is broadcast is read once.
double bytes_of(const plan::Ref& ref) {
  double count = 1;
  for (size_t i = 0; i < ref.extents.size(); ++i)
    if (ref.strides[i] != 0) count *= static_cast<double>(ref.extents[i]);
  return count * static_cast<double>(size_of(ref.element));
}

}  // namespace

double flops_of(const plan::Step& step) {
  if (step.kernel)
    if (const auto* product = std::get_if<Matmul>(&step.kernel->op)) return flops_of(*product);
  if (!step.fused) return 0;
  if (const auto* product = std::get_if<BiasedProduct>(&step.fused->op))
    return flops_of(product->product);
  if (const auto* product = std::get_if<RoundedProduct>(&step.fused->op))
    return flops_of(product->product);
  const auto causal = [](const AttentionShape& shape) {
    return 2.0 * static_cast<double>(shape.batches() * shape.rows() * shape.keys * shape.width);
  };
  if (const auto* forward = std::get_if<Attention>(&step.fused->op)) return causal(*forward);
  if (const auto* backward = std::get_if<AttentionGrad>(&step.fused->op))
    return 2.5 * causal(*backward);
  return 0;
}

double bytes_of(const plan::Step& step) {
  double bytes = 0;
  plan::for_each_ref(step, [&](const plan::Ref& ref) {
    const bool is_scratch =
        step.fused && ref.element == Element::u8 && plan::has(step.writes, ref.buffer);
    if (!is_scratch) bytes += bytes_of(ref);
  });
  return bytes;
}

double flops_of(const std::vector<plan::Step>& steps) {
  double flops = 0;
  for (const plan::Step& step : steps)
    flops += flops_of(step) + static_cast<double>(step.times) * flops_of(step.body);
  return flops;
}

}  // namespace shardproof::bench
