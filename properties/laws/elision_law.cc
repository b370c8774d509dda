// Passes over a plan's steps change no number: steps of the models and plans that give the passes
// something to do, on virtual ranks of the emulator, with and without them. And they do it.
#include <gtest/gtest.h>

#include "impl/compile/compile_plan.h"
#include "impl/device/emulated/emulated.h"
#include "impl/device/planned.h"
#include "impl/plan/steps.h"
#include "properties/generators/plan_run.h"
#include "spec/check/mesh_points.h"

namespace shardproof {
namespace {

using properties::PlanCase;

Program load(const std::string& model) {
  CheckOptions options;
  options.fixes = false;
  return Program::load(SHARDPROOF_SOURCE_DIR "/spec/models/" + model, disk_reader(), options);
}

void expect_same_numbers(const PlanCase& one, bool overlap) {
  const auto run = [&](bool elide) {
    return properties::run_on_ranks(one, {.overlap = overlap,
                                          .unroll = overlap ? 2u : 1u,
                                          .elide = elide,
                                          .device = emulated_device(overlap)});
  };
  const auto elide = run(true);
  EXPECT_EQ(elide, run(false)) << properties::text(one);
  for (const auto& result : elide) EXPECT_TRUE(result);
}

TEST(Elision, StepsOfTheModelsHaveTheSameNumbers) {
  for (const auto& [model, plan, overlap] :
       {std::tuple("llama_causal.shard", "causal_step_fused", false),
        std::tuple("llama_bf16.shard", "step_bf16", true)}) {
    SCOPED_TRACE(model);
    const Program program = load(model);
    PlanCase one = properties::case_of(program, program.plan(plan));
    const std::vector<Divisibility> conditions = all_conditions(program.checked());
    unsigned seed = 1;
    while (seed < 40 && !properties::draw(one, conditions, seed, false)) ++seed;
    ASSERT_LT(seed, 40u);
    expect_same_numbers(one, overlap);
  }
}

struct Tallied {
  size_t arena = 0;
  int64_t steps = 0, bytes = 0;
  std::map<std::string, int64_t> ops;
};

void tally(const std::vector<plan::Step>& steps, int64_t times, Tallied& result) {
  for (const plan::Step& step : steps) {
    if (step.is_kernel()) result.steps += times, result.ops[step.op] += times;
    plan::for_each_ref(step, [&](const plan::Ref& ref) {
      result.bytes += times * ref.count() * static_cast<int64_t>(size_of(ref.element));
    });
    tally(step.body, times * step.times, result);
  }
}

Tallied tallied(const Program& program, const Name& plan, const DimSizes& sizes, bool elide) {
  const Plan made =
      compile_plan(program, plan, Mesh(), sizes, 0, {.elide = elide, .device = planned_device()});
  Tallied result{made.arena_bytes(), 0, 0, {}};
  tally(made.steps(), 1, result);
  return result;
}

// All its weights' gradients are bf16 sums, and most of its memory: little is computed with them.
TEST(Elision, AStepKeepsItsGradientsAsTheyAreMade) {
  const DimSizes sizes{{"B", 1}, {"L", 8},  {"M", 64}, {"F", 96}, {"Q", 2},
                       {"K", 2}, {"D", 16}, {"V", 64}, {"N", 40}};
  const Program program = load("llama_causal.shard");
  const Tallied before = tallied(program, "causal_step_fused", sizes, false),
                after = tallied(program, "causal_step_fused", sizes, true);
  EXPECT_LT(after.arena, before.arena * 6 / 10);
  // Of a layer 6 widenings, and the 6 steps that add up a gradient of two halves.
  EXPECT_LE(after.steps, before.steps - 40 * (6 + 6));
  EXPECT_EQ(after.ops.at("einsum"), before.ops.at("einsum"));
}

struct Small {
  std::string text;
  bool less = true;  ///< to read and write, and a smaller arena
};

// Each is drawn at its sizes, and has something that must stay as it is.
TEST(Elision, SmallPlansHaveTheSameNumbers) {
  const std::string header = "dim N M K B\n";
  const Small plans[] = {
      // What is widened in one loop is read in another, and its sum of squares.
      {"plan p(x: bf16[N M], w: f32[N M]) -> (s: f32[], y: f32[M]) {\n"
       " g = scan n in N { emit f32(bf16(x[n] * x[n])) }\n"
       " y = scan n in N, a: f32[M] = zeros(f32[M]) { next a + g[n] * w[n] }\n"
       " return sumsq(g), y }\n"},
      // One of the readers wants f32.
      {"plan p(x: bf16[N M], w: f32[M K]) -> (s: f32[], y: f32[N K]) {\n"
       " g = scan n in N { emit f32(bf16(x[n] * x[n])) }\n"
       " return sumsq(g), einsum(\"N M, M K -> N K\", g, w) }\n",
       false},
      // A weight that is cast, and wanted in another order than it has.
      {"plan p(x: bf16[B M], w: f32[M K N]) -> bf16[B N K] {\n"
       " return einsum(\"B M, M K N -> B N K\", x, bf16(w)) }\n"},
      // Two parts of one array.
      {"plan p(x y: bf16[M]) -> (a b: bf16[N M]) {\n"
       " z = zeros(bf16[N M])\n"
       " s = write(\"[N] M, M -> N M\", z, x * x, at=0) + write(\"[N] M, M -> N M\", z, y * y, "
       "at=1)\n"
       " return s * s, s + s }\n"},
      // Two parts that meet.
      {"plan p(x y: bf16[M]) -> (a b: bf16[N M]) {\n"
       " z = zeros(bf16[N M])\n"
       " s = write(\"[N] M, M -> N M\", z, x * x, at=1) + write(\"[N] M, M -> N M\", z, y * y, "
       "at=1)\n"
       " return s * s, s + s }\n",
       false},
  };
  for (const Small& each : plans) {
    SCOPED_TRACE(each.text);
    const Program program = Program::from_text(header + each.text);
    PlanCase one = properties::case_of(program, program.plan("p"));
    const DimSizes sizes{{"N", 2}, {"M", 130}, {"K", 3}, {"B", 200}};
    one.sizes = {{}, {sizes.begin(), sizes.end()}};
    ASSERT_TRUE(properties::draw_inputs(one, 3, false));
    expect_same_numbers(one, true);
    const Tallied before = tallied(program, "p", sizes, false),
                  after = tallied(program, "p", sizes, true);
    if (each.less) {
      EXPECT_LT(after.arena, before.arena);
      EXPECT_LT(after.bytes, before.bytes);
    } else {
      EXPECT_EQ(after.arena, before.arena);
      EXPECT_EQ(after.bytes, before.bytes);
    }
  }
}

}  // namespace
}  // namespace shardproof
