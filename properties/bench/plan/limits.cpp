#include "properties/bench/plan/limits.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>

#include "impl/comm/threads.h"
#include "kernels/bf16.h"
#include "kernels/cpu/kernels.h"
#include "properties/bench/step_cost.h"

namespace shardproof::bench {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

template <class Work>
double least_seconds(const Work& work) {
  double least = never;
  for (int i = 0; i < 7; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    least = std::min(
        least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

/// FLOP/s of a product of square matrices.
double rate_of_products(Element element) {
  constexpr int64_t n = 1536;
  const Nest once{{}, {{}, {}, {}}};
  const Matmul op{n, n, n, {n, 1}, {n, 1}, {n, 1}, once, {element, element, element}};
  const std::vector<std::byte> a(n * n * size_of(element));
  std::vector<std::byte> c(a.size());
  const void* inputs[] = {a.data(), a.data()};
  return 2.0 * n * n * n / least_seconds([&] { cpu::run(op, c.data(), inputs); });
}

/// Bytes/s that a copy reads and writes.
double rate_of_copies() {
  constexpr size_t bytes = size_t{128} << 20;
  std::vector<std::byte> from(bytes), to(bytes);
  return 2.0 * bytes / least_seconds([&] { std::memcpy(to.data(), from.data(), bytes); });
}

struct Cost {
  double flops = 0, bytes = 0, limit = 0, seconds = never;
  int64_t calls = 0;
};

class Costs {
 public:
  Costs(double flops_per_s, double bytes_per_s) : flops_(flops_per_s), bytes_(bytes_per_s) {}

  void add(const std::vector<plan::Step>& steps, double times) {
    for (const plan::Step& step : steps) {
      if (step.is_loop) add(step.body, times * static_cast<double>(step.times));
      if (!step.is_kernel()) continue;
      const double flops = flops_of(step), bytes = bytes_of(step);
      Cost& cost = all_[step.op];
      cost.flops += times * flops;
      cost.bytes += times * bytes;
      cost.limit += times * std::max(flops / flops_, bytes / bytes_);
      cost.calls += static_cast<int64_t>(times);
    }
  }
  void measured(const std::string& op, double seconds) {
    if (const auto found = all_.find(op); found != all_.end())
      found->second.seconds = std::min(found->second.seconds, seconds);
  }
  void print() const {
    std::vector<std::pair<std::string, Cost>> rows(all_.begin(), all_.end());
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    Cost sum;
    sum.seconds = 0;
    std::printf("%-24s %7s %9s %9s %8s %8s %8s\n", "op", "calls", "ms", "GFLOP/s", "GB/s",
                "limit ms", "share");
    for (const auto& [op, cost] : rows) {
      row(op, cost);
      sum = {sum.flops + cost.flops, sum.bytes + cost.bytes, sum.limit + cost.limit,
             sum.seconds + cost.seconds, sum.calls + cost.calls};
    }
    row("all", sum);
  }

 private:
  static void row(const std::string& op, const Cost& cost) {
    std::printf("%-24s %7lld %9.2f %9.1f %8.1f %8.2f %7.0f%%\n", op.c_str(),
                static_cast<long long>(cost.calls), 1e3 * cost.seconds,
                1e-9 * cost.flops / cost.seconds, 1e-9 * cost.bytes / cost.seconds,
                1e3 * cost.limit, 100 * cost.limit / cost.seconds);
  }

  double flops_, bytes_;
  std::map<std::string, Cost> all_;
};

}  // namespace

void print_limits(Plan& plan, std::vector<LocalTensor>& tensors, Precision precision, int runs) {
  const Element element = precision == Precision::f32 ? Element::f32 : Element::bf16;
  const double flops = rate_of_products(element), bytes = rate_of_copies();
  std::printf("one product: %.1f GFLOP/s; a copy: %.1f GB/s\n", 1e-9 * flops, 1e-9 * bytes);
  Costs costs(flops, bytes);
  costs.add(plan.steps(), 1);
  run_on_threads(1, [&](Communicator& communicator) {
    plan.update(communicator, tensors);  // touches the memory
    plan.measure(true);
    std::map<std::string, OpTime> before;
    for (int i = 0; i < runs; ++i) {
      plan.update(communicator, tensors);
      for (const auto& [op, time] : plan.times())
        costs.measured(op, time.seconds - before[op].seconds);
      before = plan.times();
    }
  });
  costs.print();
}

}  // namespace shardproof::bench
