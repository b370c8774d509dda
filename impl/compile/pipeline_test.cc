// Each rank runs its own stage of a pipeline, and together they compute what one rank computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "impl/comm/threads.h"
#include "impl/compile/compile_plan.h"
#include "impl/compile/planted.h"
#include "impl/device/planned.h"
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

LocalTensor filled(LocalTensor tensor, int64_t first) {
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
    LocalTensor w = plan.input(1);
    const int64_t own = dims.at("N") / p;
    for (int64_t c = 0; c < dims.at("X"); ++c)
      for (int64_t n = 0; n < own; ++n)
        w.data<float>()[c * own + n] = weight(c, ranks.rank() * own + n);
    std::vector<LocalTensor> inputs;
    inputs.push_back(filled(plan.input(0), 0));
    inputs.push_back(std::move(w));
    const std::vector<LocalTensor> out = plan.run(ranks, inputs);
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
    EXPECT_THAT(error.what(), HasSubstr("requires ((|A| % |p|) == 0) or (|X| == 1)"));
  }
}

/// Each parameter is used in another way: by all layers, by those of a chunk, by each layer, and
/// before and after them. Without chunks X is not a dim.
Program with_gradient(const std::string& schedule, bool chunks) {
  const std::string x = chunks ? "X" : "", in_chunk = chunks ? "[c]" : "";
  const std::string w = chunks ? "w[c, n]" : "w[n]";
  const std::string layer =
      "{ next tanh(h * expand(\" -> B\", " + w + ") * s" + in_chunk + " + k) }\n";
  const std::string layers = chunks ? "y = scan c in X, g: f32[B] = x[a] * k {\n"
                                      "z = scan n in N, h: f32[B] = g " +
                                          layer + "next z }\n"
                                    : "y = scan n in N, h: f32[B] = x[a] * k " + layer;
  const std::string stages = chunks ? "c, n in X, N" : "n in N";
  const auto params = [&](const std::string& n) {
    return "(x: f32[A B], w: f32[" + x + " " + n + "], s: f32[" + x + "], k: f32[B])";
  };
  return Program::from_text(
      "mesh p\ndim A B N " + x + "\nfn loss" + params("N") +
      " -> f32[] {\nl = scan a in A, t: f32[] = 0 {\n" + layers +
      "next t + sum(\"B -> \", y * k * x[a])\n}\nreturn l / |A|\n}\n"
      "fn grads" +
      params("N") + " -> (l: f32[], gx: f32[A B], gw: f32[" + x + " N], gs: f32[" + x +
      "], gk: f32[B]) {\n"
      "l, gx, gw, gs, gk = value_and_grad(loss wrt x, w, s, k)(x, w, s, k)\n"
      "return l, gx, gw, gs, gk\n}\n"
      "plan loss_p implements loss" +
      params("N/p") +
      " -> f32[]{U_p} {\n"
      "per = pipeline a in A over p by " +
      schedule +
      " {\n"
      "y = stages " +
      stages + ", h: f32[B] = x[a] * k " + layer +
      "emit sum(\"B -> \", y * k * x[a])\n}\n"
      "return sum(\"A {U_p} -> {U_p}\", per) / |A|\n}\n"
      "plan grads_p implements grads" +
      params("N/p") + " -> (l: f32[]{U_p}, gx: f32[A B]{U_p}, gw: f32[" + x + " N/p], gs: f32[" +
      x +
      "]{U_p}, gk: f32[B]{U_p}) {\n"
      "l, gx, gw, gs, gk = value_and_grad(loss_p wrt x, w, s, k)(x, w, s, k)\n"
      "return l, gx, gw, gs, gk\n}\n");
}

/// The sum over ranks of each result; of the weights, whose layers are the ranks', all of them.
std::vector<std::vector<double>> gradients(const Program& program, int64_t p,
                                           const DimSizes& dims) {
  std::vector<std::vector<double>> sums(5);
  std::mutex mutex;
  const int64_t all = dims.at("N"), own = all / p;
  run_on_threads(static_cast<int>(p), [&](Communicator& ranks) {
    const Mesh mesh = Mesh::parse("p=" + std::to_string(p));
    Plan plan = compile_plan(program, "grads_p", mesh, dims, ranks.rank());
    std::vector<LocalTensor> inputs;
    for (size_t i = 0; i < 4; ++i) {
      LocalTensor tensor = plan.input(i);
      for (int64_t e = 0; e < tensor.count(); ++e) {
        const int64_t global = i == 1 ? e / own * all + ranks.rank() * own + e % own : e;
        tensor.data<float>()[e] =
            static_cast<float>((global * 7 + static_cast<int64_t>(i) * 3) % 11 + 1) / 12;
      }
      inputs.push_back(std::move(tensor));
    }
    const std::vector<LocalTensor> out = plan.run(ranks, inputs);
    const std::lock_guard lock(mutex);
    for (size_t i = 0; i < 5; ++i) {
      const int64_t count = out[i].count() * (i == 2 ? p : 1);
      sums[i].resize(static_cast<size_t>(count));
      for (int64_t e = 0; e < out[i].count(); ++e) {
        const int64_t global = i == 2 ? e / own * all + ranks.rank() * own + e % own : e;
        sums[i][static_cast<size_t>(global)] += out[i].data<float>()[e];
      }
    }
  });
  return sums;
}

/// The loss and its gradients in double, by the chain rule written out.
std::vector<std::vector<double>> expected(const DimSizes& dims) {
  const int64_t A = dims.at("A"), B = dims.at("B"), N = dims.at("N"), X = dims.at("X");
  const auto input = [](int64_t i, int64_t e) {
    return static_cast<double>(static_cast<float>((e * 7 + i * 3) % 11 + 1) / 12);
  };
  std::vector<std::vector<double>> sums(5);
  const int64_t counts[] = {1, A * B, X * N, X, B};
  for (size_t i = 0; i < 5; ++i) sums[i].resize(static_cast<size_t>(counts[i]));
  const double g = 1.0 / static_cast<double>(A);
  for (int64_t a = 0; a < A; ++a)
    for (int64_t b = 0; b < B; ++b) {
      const double x = input(0, a * B + b), k = input(3, b);
      std::vector<double> h{x * k};
      for (int64_t i = 0; i < X * N; ++i)
        h.push_back(std::tanh(h.back() * input(1, i) * input(2, i / N) + k));
      sums[0][0] += g * h.back() * k * x;
      double back = g * k * x, gk = g * h.back() * x, gx = g * h.back() * k;
      for (int64_t i = X * N; i-- > 0;) {
        const auto at = static_cast<size_t>(i);
        const double inner = back * (1 - h[at + 1] * h[at + 1]);
        gk += inner;
        sums[2][at] += inner * h[at] * input(2, i / N);
        sums[3][at / static_cast<size_t>(N)] += inner * h[at] * input(1, i);
        back = inner * input(1, i) * input(2, i / N);
      }
      sums[1][static_cast<size_t>(a * B + b)] = gx + back * k;
      sums[4][static_cast<size_t>(b)] += gk + back * x;
    }
  return sums;
}

void expect_gradients(const Program& program, int64_t p, int64_t a, int64_t chunks) {
  SCOPED_TRACE("p = " + std::to_string(p) + ", A = " + std::to_string(a));
  const DimSizes dims{{"A", a}, {"B", 3}, {"N", 12}, {"X", chunks}};
  const auto found = gradients(program, p, dims), wanted = expected(dims);
  for (size_t i = 0; i < 5; ++i)
    EXPECT_THAT(found[i], testing::Pointwise(testing::DoubleNear(2e-5), wanted[i])) << i;
}

TEST(Pipeline, GradientsAreThoseOfTheModel) {
  for (const char* schedule : {"gpipe", "one_f_one_b", "zero_bubble"}) {
    SCOPED_TRACE(schedule);
    const Program program = with_gradient(schedule, false);
    for (const int64_t p : {1, 2, 3, 4})
      for (const int64_t a : {1, 2, 5}) expect_gradients(program, p, a, 1);
  }
}

TEST(Pipeline, GradientsGoRoundAsChunksDo) {
  const Program program = with_gradient("interleaved(C = |X|)", true);
  for (const int64_t p : {1, 2, 3}) expect_gradients(program, p, 6, 2);
  expect_gradients(program, 4, 4, 3);
}

TEST(Pipeline, ARankThatDiesEndsTheOthersWithItsName) {
  const Program program = in_stages("one_f_one_b");
  for (const int dies : {0, 1, 2}) {
    try {
      run_on_threads(3, [&](Communicator& ranks) {
        const DimSizes dims{{"A", 4}, {"B", 3}, {"N", 3}};
        Plan plan = compile_plan(program, "f_p", Mesh::parse("p=3"), dims, ranks.rank());
        if (ranks.rank() == dies) throw std::runtime_error("it has lost power");
        std::vector<LocalTensor> inputs;
        for (size_t i = 0; i < 2; ++i) inputs.push_back(filled(plan.input(i), 0));
        plan.run(ranks, inputs);
      });
      FAIL() << "it ran";
    } catch (const CommError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank " + std::to_string(dies) + ": it has lost power"));
    }
  }
}

TEST(Pipeline, AMessageToAnotherStageEndsTheRun) {
  const compile::PlantedRunFault planted(compile::RunFault::other_stage);
  EXPECT_THROW(run(in_stages("one_f_one_b"), 3, {{"A", 4}, {"B", 3}, {"N", 3}, {"X", 1}}),
               CommError);
}

/// A layer's weight, which is bf16 in the layer and split over d; its gradient is reduced in f32.
Program with_gradient() {
  return Program::from_text(
      "mesh d p\ndim A B M F N\n"
      "fn f(x: f32[A B M], w: f32[N M F]) -> f32[] {\n"
      "y = scan a in A, s: f32[] = 0 {\n"
      "h = scan n in N, h: f32[B M] = x[a] {\n"
      "next tanh(einsum(\"B F, M F -> B M\", einsum(\"B M, M F -> B F\", h, w[n]), w[n]))\n}\n"
      "next s + sum(\"B M -> \", h)\n}\nreturn y\n}\n"
      "fn g(x: f32[A B M], w: f32[N M F]) -> f32[N M F] { return grad(f wrt w)(x, w, 1.0) }\n"
      "plan f_p implements f(x: f32[A B/d M], w: f32[N/p M/d F]) -> f32[]{U_d U_p} {\n"
      "own = all_gather(\"N/p M/d F -> N/p M F\", bf16(w, grad=f32))\n"
      "y = pipeline a in A over p by one_f_one_b {\n"
      "h = stages n in N, h: bf16[B/d M] = bf16(x[a]) {\n"
      "v = einsum(\"B/d M, M F -> B/d F\", h, own[n])\n"
      "next tanh(einsum(\"B/d F, M F -> B/d M\", v, own[n]))\n}\n"
      "emit sum(\"B/d M -> {U_d}\", f32(h))\n}\n"
      "return sum(\"A {U_d U_p} -> {U_d U_p}\", y)\n}\n"
      "plan g_p implements g(x: f32[A B/d M], w: f32[N/p M/d F]) -> f32[N/p M/d F] {\n"
      "return grad(f_p wrt w)(x, w, 1.0)\n}\n");
}

TEST(Pipeline, MemoryDoesNotGrowWithMicrobatches) {
  const Program program = with_gradient();
  const auto bytes = [&](int64_t a, int64_t rank) {
    const DimSizes dims{{"A", a}, {"B", 2}, {"M", 32}, {"F", 64}, {"N", 6}};
    PlanOptions options;
    options.device = planned_device();
    return compile_plan(program, "g_p", Mesh::parse("d=2,p=3"), dims, rank, options).arena_bytes();
  };
  for (const int64_t rank : {0, 1, 2}) EXPECT_LE(bytes(30, rank), bytes(6, rank) + 4096) << rank;
  // The gradients of two layers in f32, and their gathered weights in bf16.
  EXPECT_LT(bytes(30, 0), 2 * 32 * 64 * (4 + 2 + 6) + 65536);
}

TEST(Pipeline, AGradientThatWaitsForAllForwardsIsRefused) {
  const Program program = Program::from_text(
      "mesh p\ndim A N\n"
      "fn f(x: f32[A], w: f32[N]) -> f32[] {\n"
      "y = scan a in A { h = scan n in N, h: f32[] = x[a] { next tanh(h * w[n]) }\nemit h }\n"
      "return log(sum(\"A -> \", y * y))\n}\n"
      "fn g(x: f32[A], w: f32[N]) -> f32[N] { return grad(f wrt w)(x, w, 1.0) }\n"
      "plan f_p implements f(x: f32[A], w: f32[N/p]) -> f32[]{I_p} {\n"
      "y = pipeline a in A over p by gpipe {\n"
      "h = stages n in N, h: f32[] = x[a] { next tanh(h * w[n]) }\nemit h }\n"
      "q = all_reduce(\"A {U_p} -> A {I_p}\", y)\n"
      "return log(sum(\"A {I_p} -> {I_p}\", q * q))\n}\n"
      "plan g_p implements g(x: f32[A], w: f32[N/p]) -> f32[N/p] {\n"
      "return grad(f_p wrt w)(x, w, 1.0)\n}\n");
  try {
    compile_plan(program, "g_p", Mesh::parse("p=1"), {{"A", 2}, {"N", 2}}, 0,
                 {.accept_unknown = true});
    FAIL() << "it compiled";
  } catch (const PlanError& error) {
    EXPECT_THAT(error.what(), HasSubstr("would wait for all forwards"));
  }
}

/// Each layer emits what it reads: (c, n) of the model's layers, for each microbatch.
TEST(Pipeline, EachStageHasWhatItsLayersEmit) {
  const Program program = Program::from_text(
      "mesh p\ndim A N X\n"
      "fn f(x: f32[A], w: f32[X N]) -> (y: f32[A], e: f32[A X N]) {\n"
      "y, e = scan a in A {\n"
      "z, e = scan c in X, g: f32[] = x[a] {\n"
      "z, e = scan n in N, h: f32[] = g { next h + w[c, n]\nemit h }\nnext z\nemit e }\n"
      "emit z, e }\nreturn y, e }\n"
      "plan f_p implements f(x: f32[A], w: f32[X N/p]) -> (y: f32[A]{U_p}, e: f32[A X N/p]) {\n"
      "y, e = pipeline a in A over p by interleaved(C = |X|) {\n"
      "z, e = stages c, n in X, N, h: f32[] = x[a] { next h + w[c, n]\nemit h }\n"
      "emit z, e }\nreturn y, e }\n");
  constexpr int64_t p = 2, a = 4, chunks = 3, layers = 4, own = layers / p;
  run_on_threads(p, [&](Communicator& ranks) {
    const DimSizes dims{{"A", a}, {"N", layers}, {"X", chunks}};
    Plan plan = compile_plan(program, "f_p", Mesh::parse("p=2"), dims, ranks.rank());
    LocalTensor w = plan.input(1);
    for (int64_t c = 0; c < chunks; ++c)
      for (int64_t n = 0; n < own; ++n)
        w.data<float>()[c * own + n] = weight(c, ranks.rank() * own + n);
    std::vector<LocalTensor> inputs;
    inputs.push_back(filled(plan.input(0), 1));
    inputs.push_back(std::move(w));
    const std::vector<LocalTensor> out = plan.run(ranks, inputs);
    for (int64_t m = 0; m < a; ++m) {
      auto h = static_cast<float>((1 + m) * (1 + m) % 7);
      for (int64_t c = 0; c < chunks; ++c)
        for (int64_t n = 0; n < layers; ++n) {
          if (n / own == ranks.rank()) {
            EXPECT_EQ(out[1].data<float>()[(m * chunks + c) * own + n % own], h)
                << m << " " << c << " " << n;
          }
          h += weight(c, n);
        }
    }
  });
}

TEST(Pipeline, AGradientOfStagesThatEmitIsRefused) {
  const Program program = Program::from_text(
      "mesh p\ndim A N\n"
      "fn f(x: f32[A], w: f32[N]) -> f32[] {\n"
      "e = scan a in A { _h, e = scan n in N, h: f32[] = x[a] { next tanh(h * w[n])\nemit h }\n"
      "emit e }\nreturn sum(\"A N -> \", e)\n}\n"
      "fn g(x: f32[A], w: f32[N]) -> f32[N] { return grad(f wrt w)(x, w, 1.0) }\n"
      "plan f_p implements f(x: f32[A], w: f32[N/p]) -> f32[]{U_p} {\n"
      "e = pipeline a in A over p by gpipe {\n"
      "_h, e = stages n in N, h: f32[] = x[a] { next tanh(h * w[n])\nemit h }\nemit e }\n"
      "return sum(\"A N/p -> {U_p}\", e)\n}\n"
      "plan g_p implements g(x: f32[A], w: f32[N/p]) -> f32[N/p] {\n"
      "return grad(f_p wrt w)(x, w, 1.0)\n}\n");
  try {
    compile_plan(program, "g_p", Mesh::parse("p=1"), {{"A", 2}, {"N", 2}}, 0, {});
    FAIL() << "it compiled";
  } catch (const PlanError& error) {
    EXPECT_THAT(error.what(), HasSubstr("its stages emit values"));
  }
}

}  // namespace
}  // namespace shardproof
