// pipeline_bench [MILLISECONDS]: the share of time in which the stages of a pipeline wait, measured
// and by the model of spec/schedule; 1 where they differ by more than a tenth. Ranks are threads
// that run the steps of a real plan; in place of computing, a product waits on the clock, so that
// more stages than cores can be measured. As many stages as cores compute.
// Overlapped, a stage waits less than the model says: a message leaves before the weights'
// gradients are computed, and a forward is made again before the gradient comes.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "impl/comm/threads.h"
#include "impl/compile/compile_plan.h"
#include "impl/run/plan_state.h"
#include "impl/run/runner.h"
#include "impl/shard_train/timeline.h"
#include "spec/schedule/schedule.h"
#include "spec/shell/version.h"

namespace shardproof {
namespace {

using Clock = std::chrono::steady_clock;

Program program_of(const std::string& schedule) {
  return Program::from_text(
      "mesh p\ndim A B M N\ndim M2 = M\n"
      "fn loss(x: f32[A B M], w: f32[N M M2]) -> f32[] {\n"
      "y = scan n in N, h: f32[A B M] = x {\n"
      "next tanh(rearrange(\"A B M2 -> A B M\", einsum(\"A B M, M M2 -> A B M2\", h, w[n]))) }\n"
      "return sum(\"A B M -> \", y)\n}\n"
      "fn grads(x: f32[A B M], w: f32[N M M2]) -> (l: f32[], g: f32[N M M2]) {\n"
      "l, g = value_and_grad(loss wrt w)(x, w)\nreturn l, g\n}\n"
      "plan loss_p implements loss(x: f32[A B M], w: f32[N/p M M2]) -> f32[]{U_p} {\n"
      "per = pipeline a in A over p by " +
      schedule +
      " {\n"
      "y = stages n in N, h: f32[B M] = x[a] {\n"
      "next tanh(rearrange(\"B M2 -> B M\", einsum(\"B M, M M2 -> B M2\", h, w[n]))) }\n"
      "emit sum(\"B M -> \", y)\n}\nreturn sum(\"A {U_p} -> {U_p}\", per)\n}\n"
      "plan grads_p implements grads(x: f32[A B M], w: f32[N/p M M2])"
      " -> (l: f32[]{U_p}, g: f32[N/p M M2]) {\n"
      "l, g = value_and_grad(loss_p wrt w)(x, w)\nreturn l, g\n}\n");
}

/// Seconds from the first step to the last, and the products of all ranks.
struct Measured {
  double seconds = 0;
  int64_t products = 0;
};

Measured measure(const Program& program, int64_t p, int64_t microbatches,
                 std::chrono::milliseconds product, bool overlap) {
  Measured measured;
  std::mutex mutex;
  std::vector<int> all;
  for (int rank = 0; rank < p; ++rank) all.push_back(rank);
  run_on_threads(static_cast<int>(p), [&](Communicator& ranks) {
    const Plan plan = compile_plan(program, "grads_p", Mesh::parse("p=" + std::to_string(p)),
                                   {{"A", microbatches}, {"B", 1}, {"M", 2}, {"N", p}},
                                   ranks.rank(), {.overlap = overlap});
    int64_t products = 0;
    const auto message = [&](const plan::Step& step) {
      std::byte from[64] = {}, to[64] = {};
      Group& group = ranks.group(plan.state().groups.at(step.exchange->group));
      ranks.send(group, from, to, sizeof(from), step.place);
    };
    const auto here = [&](const plan::Step& step) {
      if (step.exchange) return message(step);
      if (step.op != "einsum") return;
      std::this_thread::sleep_for(product);
      ++products;
    };
    char token = 0;
    std::vector<char> tokens(all.size());
    const auto meet = [&] {
      if (p > 1) ranks.all_gather(ranks.group(all), &token, tokens.data(), 1, "bench");
    };
    plan::StepContext context;
    context.loops.resize(plan.state().loops);
    meet();
    const auto begin = Clock::now();
    {
      plan::HostRunner runner(context, here, message);
      plan::walk(plan.steps(), runner);
    }
    meet();
    const std::lock_guard lock(mutex);
    measured.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    measured.products += products;
  });
  return measured;
}

/// A backward makes its forward again: two products for B, one for W.
double model_of(const Program& program, const std::string& name, int64_t p, int64_t microbatches) {
  const schedule::Sizes sizes{p, microbatches, 1, {}};
  const schedule::Program schedule(*program.checked().schedules().at(name));
  return schedule::simulate(schedule.timelines(sizes), sizes, {1, 2, 1}, 1, schedule.range())
      .run.idle();
}

/// Whether the share of waiting that was measured is the model's within a tenth of it.
bool near(double measured, double model) { return std::abs(measured - model) <= 0.1 * model; }

constexpr int few = 3, many = 10;  // runs of a row: many only until one is near

/// The best of some runs: another program on the machine makes stages wait, and none makes them
/// faster than the model's critical path.
template <class Measure>
double least(double model, const Measure& measure) {
  double best = measure();
  for (int run = 1; run < few || (run < many && !near(best, model)); ++run)
    best = std::min(best, measure());
  return best;
}

bool waiting_on_clocks(const std::string& name, std::chrono::milliseconds product) {
  const Program program = program_of(name);
  bool all = true;
  for (const int64_t p : {2, 4, 8})
    for (const int64_t microbatches : {p, 2 * p}) {
      const auto idle = [&](bool overlap) {
        const Measured found = measure(program, p, microbatches, product, overlap);
        // A product that wakes up late has waited.
        const double busy =
            static_cast<double>(found.products) * std::chrono::duration<double>(product).count();
        return 1 - busy / (found.seconds * static_cast<double>(p));
      };
      const double model = model_of(program, name, p, microbatches);
      const double measured = least(model, [&] { return idle(false); });
      std::printf(
          "%-12s p=%-2d A=%-3d idle: model %5.1f %%, measured %5.1f %%, overlapped %5.1f %%%s\n",
          name.c_str(), static_cast<int>(p), static_cast<int>(microbatches), 100 * model,
          100 * measured, 100 * idle(true), near(measured, model) ? "" : "  FAR");
      all = all && near(measured, model);
    }
  return all;
}

/// Ranks that compute, as many as cores: the model's durations are the means that were measured.
bool computing(const std::string& name, int64_t p) {
  const Program program = program_of(name);
  const Mesh mesh = Mesh::parse("p=" + std::to_string(p));
  shard_train::MeasuredStages best;  // of the runs the shortest: the least disturbed
  const auto measure = [&] {
    run_on_threads(static_cast<int>(p), [&](Communicator& ranks) {
      Plan plan = compile_plan(program, "grads_p", mesh,
                               {{"A", 2 * p}, {"B", 768}, {"M", 1024}, {"N", p}}, ranks.rank());
      plan.measure(true);
      std::vector<LocalTensor> inputs;
      for (size_t i = 0; i < plan.inputs().size(); ++i) {
        LocalTensor& tensor = inputs.emplace_back(plan.input(i));
        std::fill_n(tensor.data<float>(), tensor.count(), 0.001F);
      }
      plan.run(ranks, inputs);
      for (int run = 0; run < few; ++run) {
        plan.run(ranks, inputs);
        const auto found = shard_train::measured_stages(plan, mesh, ranks);
        if (found && (best.run.end == 0 || found->run.end < best.run.end)) best = *found;
      }
    });
  };
  measure();
  for (int runs = few; runs < many && !near(best.run.idle(), best.model); runs += few) measure();
  const double idle = best.run.idle();
  std::printf("%-12s p=%-2d A=%-3d idle: model %5.1f %%, measured %5.1f %%, F of %.0f ms%s\n",
              name.c_str(), static_cast<int>(p), static_cast<int>(2 * p), 100 * best.model,
              100 * idle, static_cast<double>(best.mean.f) / 1000,
              near(idle, best.model) ? "" : "  FAR");
  return near(idle, best.model);
}

}  // namespace
}  // namespace shardproof

int main(int argc, char** argv) {
  if (shardproof::shell::answers_version("pipeline_bench", argc, argv)) return 0;
  const std::chrono::milliseconds product(argc > 1 ? std::atoi(argv[1]) : 20);
  const char* const schedules[] = {"gpipe", "one_f_one_b", "zero_bubble"};
  bool all = true;
  for (const char* name : schedules) all = shardproof::waiting_on_clocks(name, product) && all;
  const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  const int64_t p = std::clamp<int64_t>(cores, 1, 8);
  if (p > 1)
    for (const char* name : schedules) all = shardproof::computing(name, p) && all;
  if (!all) std::printf("FAR: not within a tenth of the model\n");
  return all ? 0 : 1;
}
