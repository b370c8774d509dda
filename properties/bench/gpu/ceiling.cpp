#include "properties/bench/gpu/ceiling.h"

#include <algorithm>
#include <map>

namespace shardproof::bench {
namespace {

using nlohmann::json;

double flops_of(const Matmul& product) {
  return 2.0 * static_cast<double>(product.batch.count() * product.m * product.n * product.k);
}

double flops_of(const plan::Step& step) {
  if (step.kernel)
    if (const auto* product = std::get_if<Matmul>(&step.kernel->op)) return flops_of(*product);
  if (!step.fused) return 0;
  if (const auto* product = std::get_if<BiasedProduct>(&step.fused->op))
    return flops_of(product->product);
  const auto causal = [](const AttentionShape& shape) {
    return 2.0 * static_cast<double>(shape.batches() * shape.rows() * shape.keys * shape.width);
  };
  if (const auto* forward = std::get_if<Attention>(&step.fused->op)) return causal(*forward);
  if (const auto* backward = std::get_if<AttentionGrad>(&step.fused->op))
    return 2.5 * causal(*backward);
  return 0;
}

/// What is broadcast is read once.
double bytes_of(const plan::Ref& ref) {
  double count = 1;
  for (size_t i = 0; i < ref.extents.size(); ++i)
    if (ref.strides[i] != 0) count *= static_cast<double>(ref.extents[i]);
  return count * static_cast<double>(size_of(ref.element));
}

/// Without scratch, bytes that only the kernel knows: one at best has no need of it.
double bytes_of(const plan::Step& step) {
  double bytes = 0;
  plan::for_each_ref(step, [&](const plan::Ref& ref) {
    const bool is_scratch =
        step.fused && ref.element == Element::u8 && plan::has(step.writes, ref.buffer);
    if (!is_scratch) bytes += bytes_of(ref);
  });
  return bytes;
}

struct Sum {
  double kernels = 0, bytes = 0, flops = 0, seconds = 0;
};

class Ceiling {
 public:
  explicit Ceiling(const Speed& speed) : speed_(speed) {}

  void add(const std::vector<plan::Step>& steps, double times) {
    for (const plan::Step& step : steps) {
      if (step.is_loop) add(step.body, times * static_cast<double>(step.times));
      if (!step.is_kernel()) continue;
      const double bytes = bytes_of(step), flops = flops_of(step);
      const double seconds = std::max(bytes / speed_.bytes_per_s, flops / speed_.flops_per_s);
      for (Sum* sum : {&all_, &by_place_[step.op + "  " + step.place]}) {
        sum->kernels += times;
        sum->bytes += times * bytes;
        sum->flops += times * flops;
        sum->seconds += times * seconds;
      }
    }
  }

  json result() const {
    json result = row(all_);
    std::vector<std::pair<std::string, Sum>> order(by_place_.begin(), by_place_.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second.seconds > b.second.seconds;
    });
    for (const auto& [what, sum] : order) {
      if (sum.seconds < 1e-3 * all_.seconds) break;
      json one = row(sum);
      one["what"] = what;
      result["most"].push_back(one);
    }
    return result;
  }

 private:
  static json row(const Sum& sum) {
    return {{"kernels", sum.kernels},
            {"bytes", sum.bytes},
            {"flops", sum.flops},
            {"seconds", sum.seconds}};
  }

  Speed speed_;
  Sum all_;
  std::map<std::string, Sum> by_place_;
};

}  // namespace

double flops_of(const std::vector<plan::Step>& steps) {
  double flops = 0;
  for (const plan::Step& step : steps)
    flops += flops_of(step) + static_cast<double>(step.times) * flops_of(step.body);
  return flops;
}

json ceiling(const std::vector<plan::Step>& steps, const Speed& speed) {
  Ceiling ceiling(speed);
  ceiling.add(steps, 1);
  return ceiling.result();
}

}  // namespace shardproof::bench
