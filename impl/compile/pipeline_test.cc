// Each rank runs its own stage of a pipeline, and together they compute what one rank computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "impl/comm/threads.h"
#include "impl/compile/compile_plan.h"
#include "impl/plan/steps.h"

namespace shardproof {
namespace {

using testing::HasSubstr;

/// h -> 2 h + w[n]: another order of the layers, or of the microbatches, is another result.
Program in_stages(const std::string& schedule) {
  return Program::from_text(
      "mesh p\ndim A B N\n"
      "fn f(x: f32[A B], w: f32[N]) -> f32[A B] {\n"
      "  z = scan n in N, h: f32[A B] = x { next 2 * h + w[n] }\n"
      "  return z + x\n}\n"
      "plan f_p implements f(x: f32[A B], w: f32[N/p]) -> f32[A B]{U_p} {\n"
      "  y = pipeline a in A over p by " +
      schedule +
      " {\n    z = stages n in N, h: f32[B] = x[a] { next 2 * h + w[n] }\n"
      "    emit z + x[a]\n  }\n  return y\n}\n");
}

Program in_chunks() {
  return Program::from_text(
      "mesh p\ndim A B N X\n"
      "fn f(x: f32[A B], w: f32[X N]) -> f32[A B] {\n"
      "  y = scan c in X, g: f32[A B] = x {\n"
      "    z = scan n in N, h: f32[A B] = g { next 2 * h + w[c, n] }\n"
      "    next z\n  }\n  return y + x\n}\n"
      "plan f_p implements f(x: f32[A B], w: f32[X N/p]) -> f32[A B]{U_p} {\n"
      "  y = pipeline a in A over p by interleaved(C = |X|) {\n"
      "    z = stages c, n in X, N, h: f32[B] = x[a] { next 2 * h + w[c, n] }\n"
      "    emit z + x[a]\n  }\n  return y\n}\n");
}

Tensor filled(Tensor tensor, int64_t first) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.data<float>()[i] = static_cast<float>((first + i) * (first + i) % 7);
  return tensor;
}

/// w[c, n] of the whole model.
float weight(int64_t c, int64_t n) { return static_cast<float>(c + 3 * n % 5); }

struct Outcome {
  std::vector<std::vector<float>> by_rank;
  size_t sends = 0;
};

Outcome run(const Program& program, int64_t p, const DimSizes& dims) {
  Outcome outcome;
  outcome.by_rank.resize(static_cast<size_t>(p));
  std::mutex mutex;
  run_on_threads(static_cast<int>(p), [&](Communicator& ranks) {
    const Mesh mesh = Mesh::parse("p=" + std::to_string(p));
    Plan plan = compile_plan(program, "f_p", mesh, dims, ranks.rank());
    Tensor w = plan.input(1);
    const int64_t own = dims.at("N") / p;
    for (int64_t c = 0; c < dims.at("X"); ++c)
      for (int64_t n = 0; n < own; ++n)
        w.data<float>()[c * own + n] = weight(c, ranks.rank() * own + n);
    std::vector<Tensor> inputs;
    inputs.push_back(filled(plan.input(0), 0));
    inputs.push_back(std::move(w));
    const std::vector<Tensor> out = plan.run(ranks, inputs);
    const std::lock_guard lock(mutex);
    for (const auto& step : plan.steps()) outcome.sends += step.op == "send";
    outcome.by_rank[static_cast<size_t>(ranks.rank())].assign(
        out[0].data<float>(), out[0].data<float>() + out[0].count());
  });
  return outcome;
}

void expect_right(const Program& program, int64_t p, int64_t a, int64_t chunks) {
  SCOPED_TRACE("p = " + std::to_string(p) + ", A = " + std::to_string(a));
  const DimSizes dims{{"A", a}, {"B", 3}, {"N", 12}, {"X", chunks}};
  const Outcome found = run(program, p, dims);
  EXPECT_EQ(found.sends, static_cast<size_t>(a * (p * chunks - 1) * (p > 1)));
  for (int64_t i = 0; i < a * 3; ++i) {
    const float x = static_cast<float>(i * i % 7);
    float y = x;
    for (int64_t c = 0; c < chunks; ++c)
      for (int64_t n = 0; n < 12; ++n) y = 2 * y + weight(c, n);
    for (int64_t rank = 0; rank < p; ++rank)
      EXPECT_EQ(found.by_rank[static_cast<size_t>(rank)][static_cast<size_t>(i)],
                rank + 1 == p ? y + x : 0)
          << "rank " << rank << ", entry " << i;
  }
}

TEST(Pipeline, EachRankRunsItsStage) {
  for (const char* schedule : {"gpipe", "one_f_one_b", "zero_bubble"}) {
    SCOPED_TRACE(schedule);
    const Program program = in_stages(schedule);
    for (const int64_t p : {1, 2, 3, 4})
      for (const int64_t a : {1, 2, 5}) expect_right(program, p, a, 1);
  }
}

TEST(Pipeline, ChunksGoRound) {
  const Program program = in_chunks();
  for (const int64_t p : {1, 2, 3, 4}) expect_right(program, p, 12, 2);
  expect_right(program, 2, 4, 3);
}

TEST(Pipeline, ASizeThatTheScheduleDoesNotAllowIsRefused) {
  try {
    run(in_chunks(), 2, {{"A", 3}, {"B", 3}, {"N", 12}, {"X", 2}});
    FAIL() << "it ran";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), HasSubstr("interleaved does not allow p = 2, A = 3, C = 2"));
  }
}

}  // namespace
}  // namespace shardproof
