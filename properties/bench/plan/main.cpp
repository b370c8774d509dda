// plan_bench FILE PLAN DIMS STEPS MESH...: a plan on thread ranks in f32 with random inputs. For
// each mesh, without and with overlap: seconds a run, the processor time of all ranks over that of
// the first mesh, and where the time goes by op on rank 0. On the first mesh the plan's products
// are also made as bare Eigen calls on packed matrices, in the same run, and the plan alone is what
// is no arithmetic: dispatch, copies and waiting.
//
// plan_bench --serve f32|as-written FILE PLAN DIMS MESH [THREADS] runs a training step for each
// line of standard input, in place, and prints its wall seconds, the processor seconds of all
// ranks, the bytes of all ranks as planned, and the seconds that all products of the step would
// take at the rate of large products: ci/bench --peer.
//
// plan_bench --limits f32|as-written FILE PLAN DIMS RUNS [THREADS]: each op of a training step on
// one rank against the machine's rate of products and of copies, and the slowest pointwise kernels,
// each alone.
#include <Eigen/Core>
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <random>
#include <set>
#include <sstream>

#include "impl/comm/threads.h"
#include "impl/compile/compile_plan.h"
#include "impl/plan/steps.h"
#include "impl/train_step/state_in_place.h"
#include "kernels/cpu/threads.h"
#include "properties/bench/plan/limits.h"
#include "properties/bench/step_cost.h"
#include "spec/shell/version.h"

namespace shardproof {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

DimSizes sizes_of(const std::string& text) {
  DimSizes sizes;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    const size_t equals = part.find('=');
    sizes[part.substr(0, equals)] = std::stoll(part.substr(equals + 1));
  }
  return sizes;
}

/// Random numbers, the first 64 ids, and no document that starts within a row: attention sees all.
void fill(LocalTensor& tensor, unsigned seed, bool positive) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> weight(0.01f, 0.05f);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (tensor.element == Element::f32)
      tensor.data<float>()[i] = weight(rng) * (positive || rng() % 2 ? 1 : -1);
    if (tensor.element == Element::i32)
      tensor.data<int32_t>()[i] = static_cast<int32_t>(rng() % 64);
    if (tensor.element == Element::u8) tensor.data<uint8_t>()[i] = 0;
  }
  if (tensor.extents.empty() && tensor.element == Element::f32) tensor.data<float>()[0] = 1;
}

struct Result {
  double seconds = 0, processor = 0, bare = 0;  ///< a run
  size_t arena = 0;
  std::map<std::string, OpTime> times;
};

using Product = std::array<int64_t, 4>;

/// How often a run makes each product.
void count_products(const std::vector<plan::Step>& steps, int64_t times,
                    std::map<Product, int64_t>& counts) {
  for (const plan::Step& step : steps) {
    if (const auto* op = step.kernel ? std::get_if<Matmul>(&step.kernel->op) : nullptr)
      counts[{op->batch.count(), op->m, op->n, op->k}] += times;
    count_products(step.body, times * step.times, counts);
  }
}

double seconds_of_bare_products(const std::vector<plan::Step>& steps) {
  std::map<Product, int64_t> counts;
  count_products(steps, 1, counts);
  double seconds = 0;
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  for (const auto& [product, count] : counts) {
    const auto [batch, m, n, k] = product;
    std::vector<Matrix> a(static_cast<size_t>(batch), Matrix::Constant(m, k, 0.5f));
    std::vector<Matrix> b(a.size(), Matrix::Constant(k, n, 0.25f)), c(a.size(), Matrix(m, n));
    for (int64_t i = -1; i < count; ++i) {  // the first touches the memory
      const double begin = processor_seconds();
      for (size_t p = 0; p < a.size(); ++p) c[p].noalias() = a[p] * b[p];
      if (i >= 0) seconds += processor_seconds() - begin;
    }
  }
  return seconds;
}

std::vector<LocalTensor> random_inputs(const Plan& plan) {
  std::vector<LocalTensor> inputs;
  for (size_t i = 0; i < plan.inputs().size(); ++i) {
    inputs.push_back(plan.input(i));
    // Second moments are not negative.
    fill(inputs.back(), static_cast<unsigned>(i), plan.inputs()[i].name.starts_with("v."));
    if (plan.inputs()[i].name == "lr") inputs.back().data<float>()[0] = 1e-4f;
  }
  return inputs;
}

Result run(const Program& program, const std::string& name, const Mesh& mesh, const DimSizes& dims,
           int steps, bool overlap, bool bare) {
  Result result;
  double begun = 0;
  run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
    Plan plan = compile_plan(program, name, mesh, dims, communicator.rank(),
                             {.precision = Precision::f32, .overlap = overlap});
    const std::vector<LocalTensor> inputs = random_inputs(plan);
    plan.run(communicator, inputs);
    plan.measure(true);
    if (communicator.rank() == 0) begun = processor_seconds();
    const auto begin = Clock::now();
    for (int i = 0; i < steps; ++i) plan.run(communicator, inputs);
    if (communicator.rank() != 0) return;
    result.seconds = since(begin) / steps;
    result.arena = plan.arena_bytes();
    result.times = plan.times();
    if (bare) result.bare = seconds_of_bare_products(plan.steps());
  });
  result.processor = (processor_seconds() - begun - result.bare) / steps;
  return result;
}

void serve(const Program& program, const std::string& name, const DimSizes& dims, const Mesh& mesh,
           Precision precision, int threads) {
  const int ranks = static_cast<int>(mesh.ranks());
  cpu::set_threads(threads * ranks);
  const double rate =
      bench::rate_of_products(precision == Precision::f32 ? Element::f32 : Element::bf16);
  cpu::set_threads(threads * ranks, ranks);
  std::barrier together(mesh.ranks());
  bool goes_on = true;
  run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
    const PlanOptions options{.precision = precision, .overlap = false};
    Plan plan = compile_plan(program, name, mesh, dims, communicator.rank(),
                             state_in_place(options, roles_of(program, name)));
    std::vector<LocalTensor> tensors = random_inputs(plan);
    const double products = bench::flops_of(plan.steps()) * ranks / rate;
    const bool first = communicator.rank() == 0;
    for (std::string line;;) {
      if (first) goes_on = bool(std::getline(std::cin, line));
      together.arrive_and_wait();
      if (!goes_on) return;
      const double processor = processor_seconds();
      const auto begin = Clock::now();
      plan.update(communicator, tensors);
      together.arrive_and_wait();
      if (!first) continue;
      std::cout << since(begin) << " " << processor_seconds() - processor << " "
                << plan.bytes() * static_cast<size_t>(ranks) << " " << products << std::endl;
    }
  });
}

void print_limits(const Program& program, const std::string& name, const DimSizes& dims, int runs,
                  Precision precision) {
  const PlanOptions options{.precision = precision, .overlap = false};
  Plan plan = compile_plan(program, name, Mesh::parse("d=1"), dims, 0,
                           state_in_place(options, roles_of(program, name)));
  std::vector<LocalTensor> tensors = random_inputs(plan);
  bench::print_limits(plan, tensors, precision, runs);
}

/// The others move data or wait.
bool is_arithmetic(const std::string& op) {
  static const std::set<std::string> ops{"einsum", "pointwise", "reduce", "index_add", "iota",
                                         "cumsum", "argsort",   "top_k",  "random"};
  return ops.contains(op);
}

void print(const Result& result, const Mesh& mesh, bool overlap, int steps,
           double first_processor) {
  std::printf(
      "%s%s: %.4f s a run, processor time of all ranks %.4f s, %.2f of the first mesh, "
      "arena %.1f MiB\n",
      mesh.text().c_str(), overlap ? " with overlap" : "", result.seconds, result.processor,
      result.processor / first_processor, static_cast<double>(result.arena) / (1 << 20));
  std::vector<std::pair<std::string, OpTime>> rows(result.times.begin(), result.times.end());
  double arithmetic = 0, products = 0, rest = result.seconds;
  for (const auto& [op, time] : rows) {
    if (!op.ends_with(" beside")) rest -= time.seconds / steps;
    if (is_arithmetic(op)) arithmetic += time.seconds / steps;
    if (op == "einsum") products = time.seconds / steps;
  }
  rows.push_back({"dispatch", {0, rest * steps}});
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  for (const auto& [op, time] : rows)
    std::printf("  %-21s %8.4f s %6.1f %%  %lld calls\n", op.c_str(), time.seconds / steps,
                100 * time.seconds / steps / result.seconds,
                static_cast<long long>(time.calls / steps));
  std::printf("  the plan alone, dispatch, copies and waiting: %.1f %%\n",
              100 * (1 - arithmetic / result.seconds));
  if (result.bare > 0)
    std::printf(
        "  bare Eigen calls: %.4f s: processor time of the run over theirs %.3f, of the "
        "products %.3f\n",
        result.bare, result.processor / result.bare,
        products / result.seconds * result.processor / result.bare);
}

}  // namespace
}  // namespace shardproof

int main(int argc, char** argv) {
  using namespace shardproof;
  if (shell::answers_version("plan_bench", argc, argv)) return 0;
  if (argc < 6) {
    std::fprintf(stderr,
                 "usage: plan_bench FILE PLAN DIMS STEPS MESH...\n"
                 "       plan_bench --serve f32|as-written FILE PLAN DIMS MESH [THREADS]\n"
                 "       plan_bench --limits f32|as-written FILE PLAN DIMS RUNS [THREADS]\n");
    return 2;
  }
  const auto load = [](const char* file, const char* plan) {
    CheckOptions options;
    options.fixes = false;
    options.only = plan;
    return Program::load(file, disk_reader(), options);
  };
  const std::string mode = argv[1];
  const Precision precision =
      std::string(argv[2]) == "f32" ? Precision::f32 : Precision::as_written;
  if (mode == "--limits" && (argc == 7 || argc == 8)) {
    if (argc == 8) cpu::set_threads(std::atoi(argv[7]));
    print_limits(load(argv[3], argv[4]), argv[4], sizes_of(argv[5]), std::atoi(argv[6]), precision);
    return 0;
  }
  if (mode == "--serve" && (argc == 7 || argc == 8)) {
    const Mesh mesh = Mesh::parse(argv[6]);
    serve(load(argv[3], argv[4]), argv[4], sizes_of(argv[5]), mesh, precision,
          argc == 8 ? std::atoi(argv[7]) : 1);
    return 0;
  }
  const Program program = load(argv[1], argv[2]);
  const int steps = std::atoi(argv[4]);
  double first = 0;
  for (int i = 5; i < argc; ++i)
    for (const bool overlap : {false, true}) {
      const Mesh mesh = Mesh::parse(argv[i]);
      if (overlap && mesh.ranks() == 1) continue;
      const Result result =
          run(program, argv[2], mesh, sizes_of(argv[3]), steps, overlap, first == 0);
      if (first == 0) first = result.processor;
      print(result, mesh, overlap, steps, first);
    }
}
