#include "properties/bench/plan/limits.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>

#include "impl/comm/threads.h"
#include "impl/device/buffer.h"
#include "impl/plan/chain_text.h"
#include "impl/plan/op_text.h"
#include "kernels/bf16.h"
#include "kernels/cpu/kernels.h"
#include "properties/bench/step_cost.h"

namespace shardproof::bench {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

template <class Work>
double least_seconds(const Work& work, int tries = 7) {
  double least = never;
  for (int i = 0; i < tries; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    least = std::min(
        least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

/// Bytes/s that a copy reads and writes.
double rate_of_copies() {
  constexpr size_t bytes = size_t{128} << 20;
  const Buffer from(bytes), to(bytes);
  std::memset(from.data(), 0, bytes);
  return 2.0 * bytes / least_seconds([&] { std::memcpy(to.data(), from.data(), bytes); });
}

struct Cost {
  double flops = 0, bytes = 0, limit = 0, seconds = never;
  int64_t calls = 0;
};

/// Memory for the operands of `op`, the output first.
std::vector<Buffer> operands_of(const Pointwise& op) {
  std::vector<Buffer> operands;
  for (size_t k = 0; k < op.nest.strides.size(); ++k) {
    int64_t entries = 1;
    for (size_t d = 0; d < op.nest.extents.size(); ++d)
      entries += (op.nest.extents[d] - 1) * op.nest.strides[k][d];
    const Element element = k == 0 ? op.output : op.inputs[k - 1];
    operands.emplace_back(static_cast<size_t>(entries) * size_of(element));
    std::memset(operands.back().data(), 0, operands.back().bytes());
  }
  return operands;
}

double seconds_of(const Pointwise& op) {
  const std::vector<Buffer> operands = operands_of(op);
  std::vector<const void*> inputs;
  for (size_t k = 1; k < operands.size(); ++k) inputs.push_back(operands[k].data());
  return least_seconds([&] { cpu::run(op, operands[0].data(), inputs.data()); });
}

/// `4 64; strides [64 1] [64 1]; f32 exp(%1:f32)`
std::string text_of(const Pointwise& op) {
  std::string text = plan::list_text(op.nest.extents) + "; strides";
  std::vector<std::string> names;
  for (const std::vector<int64_t>& strides : op.nest.strides)
    text += " [" + plan::list_text(strides) + "]";
  for (size_t k = 0; k < op.inputs.size(); ++k)
    names.push_back("%" + std::to_string(k + 1) + ":" + name_of(op.inputs[k]));
  return text + "; " + name_of(op.output) + " " + plan::chain_text(op, names);
}

/// Distinct pointwise kernels, each measured alone, so its operands are in cache if they fit.
class SlowestKernels {
 public:
  void add(const Pointwise& op, double bytes, double times) {
    Row& row = all_[text_of(op)];
    row.op = op;
    row.bytes += times * bytes;
    row.calls += times;
  }
  void print(double bytes_per_s) const {
    std::vector<std::pair<std::string, Row>> rows(all_.begin(), all_.end());
    for (auto& [text, row] : rows) row.seconds = row.calls * seconds_of(row.op);
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    std::printf("\nthe slowest pointwise kernels, alone\n%7s %9s %8s %8s  %s\n", "calls", "ms",
                "GB/s", "share", "extents, strides, value");
    for (size_t i = 0; i < std::min<size_t>(rows.size(), 20); ++i) {
      const auto& [text, row] = rows[i];
      std::printf("%7.0f %9.2f %8.1f %7.0f%%  %s\n", row.calls, 1e3 * row.seconds,
                  1e-9 * row.bytes / row.seconds, 100 * row.bytes / row.seconds / bytes_per_s,
                  text.c_str());
    }
  }

 private:
  struct Row {
    Pointwise op;
    double bytes = 0, calls = 0, seconds = 0;
  };
  std::map<std::string, Row> all_;
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
      if (step.kernel)
        if (const auto* fused = std::get_if<Pointwise>(&step.kernel->op))
          slowest_.add(*fused, bytes, times);
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
    slowest_.print(bytes_);
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
  SlowestKernels slowest_;
};

}  // namespace

double rate_of_products(Element element) {
  const auto rate = [element](int64_t n, int64_t number, int tries) {
    const Nest batch{{number}, {{n * n}, {0}, {0}}};
    const Matmul op{n, n, n, {n, 1}, {n, 1}, {n, 1}, batch, {element, element, element}};
    const std::vector<std::byte> a(static_cast<size_t>(n * n * size_of(element)));
    std::vector<std::byte> c(static_cast<size_t>(number) * a.size());
    const void* inputs[] = {a.data(), a.data()};
    const double seconds = least_seconds([&] { cpu::run(op, c.data(), inputs); }, tries);
    return 2.0 * static_cast<double>(number * n * n * n) / seconds;
  };
  // Each of many is computed as a whole, which is best in f32; one in parts, which is best in bf16.
  // Many tries: a shared machine is slow for a second at a time.
  return std::max(rate(1024, 16, 8), rate(1536, 1, 30));
}

void print_limits(Plan& plan, std::vector<LocalTensor>& tensors, Precision precision, int runs) {
  const Element element = precision == Precision::f32 ? Element::f32 : Element::bf16;
  const double flops = rate_of_products(element), bytes = rate_of_copies();
  std::printf("products: %.1f GFLOP/s; a copy: %.1f GB/s\n", 1e-9 * flops, 1e-9 * bytes);
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
