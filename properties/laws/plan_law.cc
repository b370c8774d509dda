// What is proved is what runs: every accepted plan of the models and of the golden files, run by
// the core on thread ranks of random meshes, gives what the oracle makes of its model on whole
// tensors: values, gradients and steps.
#include <gtest/gtest.h>

#include <iostream>

#include "impl/device/emulated/emulated.h"
#include "impl/plan/steps.h"
#include "properties/generators/plan_run.h"
#include "properties/generators/shard_files.h"
#include "spec/check/mesh_points.h"

namespace shardproof {
namespace plan_law {

using properties::PlanCase;
using Tensors = std::vector<oracle::Tensor>;

const std::string root = SHARDPROOF_SOURCE_DIR;

std::vector<std::string> files(const std::string& folder) {
  // Numbers that meet what is required of values are not drawn, nor those that do not overflow.
  return properties::shard_files(
      {root + folder}, {"/syntax/", "/impossible/", "/notes/unused", "/contradiction_of_values",
                        "/after_a_plan_that_requires", "/excluding_each_other"});
}

struct Tally {
  int values = 0, gradients = 0, steps = 0;
  int blunt = 0;  ///< drawn again: in f32 a factor of 1.001 would not have been seen
  std::vector<std::string> left;
};

/// Proved, or undecided for another reason than that its calls never end.
bool accepted(const PlanReport& plan) {
  const bool undecided =
      std::any_of(plan.diagnostics.begin(), plan.diagnostics.end(), [](const Diagnostic& each) {
        return each.code == "U0003" || each.code == "U0005" || each.code == "U0010";
      });
  return plan.verdict == Verdict::proved || (plan.verdict == Verdict::unknown && !undecided);
}

/// The difference beyond what rounding moves in the model, or else in the plan's own text: of parts
/// that cancel more is lost. Bounds that would not see a factor excuse nothing.
std::string beyond_rounding(const PlanCase& one, const Tensors& wanted, const Bounds& of_model,
                            Precision precision,
                            const std::vector<std::optional<oracle::Tensor>>& got) {
  const std::string found = properties::difference(got, wanted, of_model);
  if (found.empty()) return "";
  const Bounds wide = properties::wide_bounds(
      one, wanted, [&](const Tensors& of, const properties::Evaluate& evaluate, unsigned times) {
        if (precision == Precision::as_written)
          return properties::written_bounds(one, of, evaluate, times);
        const auto bounds = properties::rounding_bounds(one, of, evaluate, times);
        return precision == Precision::f64 ? bounds.f64 : bounds.f32;
      });
  return properties::would_see_a_factor(wanted, wide) ? properties::difference(got, wanted, wide)
                                                      : found;
}

/// Runs the plan on a few meshes, in double and in float, with and without shared memory and
/// overlap. Empty where all agree with the claim.
std::string first_difference(const Program& program, const PlanReport& report, int meshes,
                             Tally& tally) {
  const std::vector<Divisibility> conditions = all_conditions(program.checked());
  PlanCase one = properties::case_of(program, report);
  int runs = 0;
  for (unsigned seed = 1; runs < meshes && seed < 40; ++seed) {
    // What is assumed of values, that one is not 0, need not hold of small whole numbers.
    const bool ties = seed % 2 == 0 && report.assumptions.empty();
    const auto wanted = properties::draw(one, conditions, seed, ties);
    if (!wanted) continue;
    const properties::RoundingBounds bounds = properties::rounding_bounds(one, *wanted);
    // All zero, or far below what it was computed from.
    if (!ties && !properties::would_see_a_factor(*wanted, bounds.f32) && ++tally.blunt) continue;
    ++runs;
    const auto got = properties::run_on_ranks(one, {.precision = Precision::f64});
    const auto beyond = [&](Precision precision, const auto& results) {
      return beyond_rounding(one, *wanted,
                             precision == Precision::f64 ? bounds.f64
                             : precision == Precision::f32
                                 ? bounds.f32
                                 : properties::written_bounds(one, *wanted),
                             precision, results);
    };
    std::string found = beyond(Precision::f64, got);
    if (!found.empty()) return properties::text(one) + ", " + found;
    const auto apart =
        properties::run_on_ranks(one, {.precision = Precision::f64, .reuse_memory = false});
    if (got != apart) return properties::text(one) + ": other bits where memory is not shared";
    if (got !=
        properties::run_on_ranks(one, {.precision = Precision::f64, .overlap = true, .unroll = 2}))
      return properties::text(one) + ": other bits with overlap";
    const auto on_device = [&](Precision precision) {
      return properties::run_on_ranks(
          one,
          {.precision = precision, .overlap = true, .unroll = 2, .device = emulated_device(seed)});
    };
    found = beyond(Precision::f64, on_device(Precision::f64));
    if (!found.empty()) return properties::text(one) + " on the emulator, " + found;
    if (ties) continue;  // many large terms that cancel
    found = beyond(Precision::as_written, on_device(Precision::as_written));
    if (!found.empty()) return properties::text(one) + " on the emulator as written, " + found;
    found = beyond(Precision::f32, properties::run_on_ranks(one, {.precision = Precision::f32}));
    if (!found.empty()) return properties::text(one) + " in f32, " + found;
    found = beyond(Precision::as_written,
                   properties::run_on_ranks(one, {.precision = Precision::as_written}));
    if (!found.empty()) return properties::text(one) + " as written, " + found;
  }
  if (runs == 0) throw PlanError("nothing is claimed at small sizes");
  return "";
}

/// How many passes along rows the plan has on this processor.
size_t passes(const std::vector<plan::Step>& steps) {
  size_t count = 0;
  for (const plan::Step& step : steps)
    count += passes(step.body) + (step.fused && std::holds_alternative<Rowwise>(step.fused->op));
  return count;
}

void run_file(const std::string& path, Tally& tally) {
  SCOPED_TRACE(path);
  CheckOptions options;
  options.fixes = false;
  const Program program = Program::load(path, disk_reader(), options);
  for (const PlanReport& report : program.checked().plans()) {
    const ir::Function& function = program.checked().program().functions.at(report.function);
    if (function.imported || function.trusted || function.kind != ir::Function::Kind::plan ||
        !accepted(report))
      continue;
    try {
      EXPECT_EQ(first_difference(program, report, 2, tally), "") << function.name;
      ++(function.implements_grad  ? tally.gradients
         : function.uses_gradients ? tally.steps
                                   : tally.values);
    } catch (const std::exception& error) {
      tally.left.push_back(path.substr(root.size()) + " " + function.name + ": " + error.what());
    }
  }
}

void print(const Tally& tally) {
  std::cout << "    " << tally.values << " plans, " << tally.gradients << " gradients and "
            << tally.steps << " steps, drawn again " << tally.blunt
            << " times; not run: " << tally.left.size() << "\n";
  for (const std::string& each : tally.left) std::cout << "      " << each << "\n";
}

TEST(Plans, OfTheModelsRunAsProved) {
  Tally tally;
  for (const std::string& path : files("/spec/models")) run_file(path, tally);
  print(tally);
  EXPECT_LT(tally.blunt, 20);
  EXPECT_GE(tally.values, 40);
  EXPECT_GE(tally.steps, 10);
}

// Rows that are long enough for one pass, of which random sizes have none.
TEST(Plans, OfLongRowsRunAsProved) {
  const DimSizes gpt2{{"B", 2},  {"L", 64}, {"M", 64}, {"F", 128}, {"H", 2},
                      {"D", 32}, {"V", 64}, {"N", 2},  {"P", 64}};
  const DimSizes llama{{"B", 2}, {"L", 64}, {"M", 64}, {"F", 128}, {"Q", 2},
                       {"K", 1}, {"D", 32}, {"V", 64}, {"N", 2}};
  const bool has_passes = cpu_device()->has_fused(Rowwise{1, 1 << 20, {{}}, {}, {{}}});
  for (const auto& [file, plan, sizes] : {std::tuple{"gpt2_data_parallel", "train_step_ddp", gpt2},
                                          {"gpt2_data_parallel", "train_step_fsdp", gpt2},
                                          {"llama3_data_parallel", "train_step_ddp", llama}}) {
    const Program program = Program::load(root + "/spec/models/" + file + ".shard");
    const PlanReport& report = program.plan(plan);
    ASSERT_EQ(report.verdict, Verdict::proved);
    PlanCase one = properties::case_of(program, report);
    one.sizes = {{{"d", 2}}, sizes};
    if (has_passes) {
      const Plan compiled = compile_plan(program, plan, properties::mesh_of(one.sizes), sizes, 0);
      EXPECT_GT(passes(compiled.steps()), 4u);
    }
    const auto wanted = properties::draw_inputs(one, 5, false);
    ASSERT_TRUE(wanted);
    EXPECT_EQ(
        beyond_rounding(one, *wanted, properties::rounding_bounds(one, *wanted).f32, Precision::f32,
                        properties::run_on_ranks(one, {.precision = Precision::f32})),
        "")
        << file << " " << plan;
    EXPECT_EQ(beyond_rounding(one, *wanted, properties::written_bounds(one, *wanted),
                              Precision::as_written,
                              properties::run_on_ranks(one, {.precision = Precision::as_written})),
              "")
        << file << " " << plan << " as written";
  }
}

int64_t count(const std::vector<plan::Step>& steps, const std::string& op) {
  int64_t number = 0;
  for (const plan::Step& step : steps)
    number += step.is_loop ? step.times * count(step.body, op) : step.op == op;
  return number;
}

// The backward has what it needs of the forward; the loss takes it from there.
TEST(Plans, ComputeTheForwardOfAStepOnce) {
  const Program program = Program::load(root + "/spec/models/llama_train.shard");
  const DimSizes sizes{{"B", 2}, {"L", 4}, {"M", 8},  {"F", 8}, {"Q", 2},
                       {"K", 2}, {"D", 4}, {"V", 16}, {"N", 3}, {"A", 1}};
  const Plan step = compile_plan(program, "train_step_sharded", Mesh(), sizes, 0);
  EXPECT_EQ(count(step.steps(), "index"), 1);
  // Of a layer 8 products forward and 2 for each of them backward, and two for the probabilities
  // again; 3 of the head.
  EXPECT_EQ(count(step.steps(), "einsum"), 3 * (8 + 16 + 2) + 3);
}

// Bodies that are the same text of other arguments, in one loop after the other and in one another.
TEST(Plans, OfLoopsThatAreAlikeRunAsProved) {
  const Program program = Program::from_text(R"(
dim N M
mesh d
fn f(x y: f32[M]) -> (f32[M], f32[M], f32[M]) {
    a = scan n in N, s: f32[M] = x { next s * s + 1 }
    b = scan n in N, s: f32[M] = y { next s * s + 1 }
    c = scan n in N, s: f32[M] = x {
        t = scan k in N, u: f32[M] = s { next u * u + 1 }
        v = scan k in N, u: f32[M] = t - y { next u * u + 1 }
        next t - 0.5 * v
    }
    return a, b, c
}
plan f_d implements f(x y: f32[M/d]) -> (f32[M/d], f32[M/d], f32[M/d]) {
    a = scan n in N, s: f32[M/d] = x { next s * s + 1 }
    b = scan n in N, s: f32[M/d] = y { next s * s + 1 }
    c = scan n in N, s: f32[M/d] = x {
        t = scan k in N, u: f32[M/d] = s { next u * u + 1 }
        v = scan k in N, u: f32[M/d] = t - y { next u * u + 1 }
        next t - 0.5 * v
    }
    return a, b, c
}
)");
  const PlanReport& report = program.plan("f_d");
  EXPECT_EQ(report.verdict, Verdict::proved) << program.report();
  PlanCase one = properties::case_of(program, report);
  one.sizes = {{{"d", 2}}, {{"M", 4}, {"N", 2}}};
  const auto wanted = properties::draw_inputs(one, 3, true);
  ASSERT_TRUE(wanted);
  for (const size_t unroll : {1u, 2u}) {
    const auto got = properties::run_on_ranks(one, {.precision = Precision::f64, .unroll = unroll});
    EXPECT_EQ(properties::difference(got, *wanted, Bounds(3, 1e-9)), "");
  }
}

TEST(Plans, OfTheGoldenFilesRunAsProved) {
  Tally tally;
  for (const std::string& path : files("/spec/tests")) run_file(path, tally);
  print(tally);
  EXPECT_LT(tally.blunt * 25, tally.values + tally.gradients + tally.steps);
  EXPECT_GE(tally.values, 100);
}

}  // namespace plan_law
}  // namespace shardproof
