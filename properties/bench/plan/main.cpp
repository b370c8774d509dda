// plan_bench FILE PLAN MESH DIMS [STEPS] [overlap]: a plan on thread ranks in f32, with random
// inputs: seconds per run, and where they go by op. "einsum" is Eigen's own products on packed
// matrices, so that time / einsum is the ratio to bare calls; "plan" is what is in no op: loops,
// dispatch, allocation of results.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <sstream>

#include "impl/comm/threads.h"
#include "impl/exec/plan.h"

namespace shardproof {
namespace {

using Clock = std::chrono::steady_clock;

DimSizes sizes_of(const std::string& text) {
  DimSizes sizes;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    const size_t equals = part.find('=');
    sizes[part.substr(0, equals)] = std::stoll(part.substr(equals + 1));
  }
  return sizes;
}

void fill(Tensor& tensor, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> weight(0.01f, 0.05f);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (tensor.element == Element::f32)
      tensor.data<float>()[i] = weight(rng) * (rng() % 2 ? 1 : -1);
    if (tensor.element == Element::i32)
      tensor.data<int32_t>()[i] = static_cast<int32_t>(rng() % 64);
    if (tensor.element == Element::u8) tensor.data<uint8_t>()[i] = rng() % 64 == 0;
  }
  if (tensor.extents.empty() && tensor.element == Element::f32) tensor.data<float>()[0] = 1;
}

struct Result {
  double seconds = 0;
  size_t arena = 0;
  std::map<std::string, OpTime> times;
};

Result run(const Program& program, const std::string& name, const Mesh& mesh, const DimSizes& dims,
           int steps, bool overlap) {
  Result result;
  run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
    Plan plan(program, name, mesh, dims, communicator.rank(),
              {.precision = Precision::f32, .overlap = overlap});
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < plan.inputs().size(); ++i) {
      inputs.push_back(plan.input(i));
      fill(inputs.back(), static_cast<unsigned>(i));
      // Second moments are not negative.
      if (plan.inputs()[i].name.starts_with("v."))
        for (int64_t k = 0; k < inputs[i].count(); ++k)
          inputs[i].data<float>()[k] = std::abs(inputs[i].data<float>()[k]);
    }
    plan.run(communicator, inputs);
    plan.measure(true);
    const auto begin = Clock::now();
    for (int i = 0; i < steps; ++i) plan.run(communicator, inputs);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count() / steps;
    if (communicator.rank() != 0) return;
    result.seconds = seconds;
    result.arena = plan.arena_bytes();
    result.times = plan.times();
  });
  return result;
}

void print(const Result& result, const Mesh& mesh, int steps) {
  std::printf("%s: %.4f s a run, arena %.1f MiB\n", mesh.text().c_str(), result.seconds,
              static_cast<double>(result.arena) / (1 << 20));
  std::vector<std::pair<std::string, OpTime>> rows(result.times.begin(), result.times.end());
  double rest = result.seconds;
  for (const auto& [op, time] : rows)
    if (!op.ends_with(" beside")) rest -= time.seconds / steps;
  rows.push_back({"plan", {0, rest * steps}});
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  for (const auto& [op, time] : rows)
    std::printf("  %-21s %8.4f s %6.1f %%  %lld calls\n", op.c_str(), time.seconds / steps,
                100 * time.seconds / steps / result.seconds,
                static_cast<long long>(time.calls / steps));
}

}  // namespace
}  // namespace shardproof

int main(int argc, char** argv) {
  using namespace shardproof;
  if (argc < 5) {
    std::fprintf(stderr, "usage: plan_bench FILE PLAN MESH DIMS [STEPS] [overlap]\n");
    return 2;
  }
  const Program program = Program::load(argv[1]);
  const int steps = argc > 5 ? std::atoi(argv[5]) : 3;
  const Mesh mesh = Mesh::parse(argv[3]);
  const bool overlap = argc > 6 && std::string_view(argv[6]) == "overlap";
  print(run(program, argv[2], mesh, sizes_of(argv[4]), steps, overlap), mesh, steps);
}
