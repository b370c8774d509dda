// What does not fit a plan, and a rank that fails in the middle of one, is an error that names the
// tensor or the rank and says what to do, on every rank, and no rank hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "impl/comm/threads.h"
#include "impl/comm/virtual/virtual_ranks.h"
#include "impl/compile/compile_plan.h"
#include "impl/device/emulated/emulated.h"
#include "impl/plan/steps.h"
#include "impl/run/plan_state.h"
#include "properties/generators/at_call.h"

namespace shardproof {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const DimSizes sizes{{"B", 8}, {"L", 2}, {"M", 8}, {"F", 4}, {"A", 3}};

const Program& program() {
  static const Program loaded =
      Program::load(SHARDPROOF_SOURCE_DIR "/spec/models/data_parallel.shard");
  return loaded;
}

std::vector<LocalTensor> zeros(const Plan& plan) {
  std::vector<LocalTensor> inputs;
  for (size_t i = 0; i < plan.inputs().size(); ++i) {
    inputs.push_back(plan.input(i));
    std::memset(inputs.back().data<char>(), 0, inputs.back().buffer.bytes());
  }
  return inputs;
}

using Change = std::function<void(std::vector<LocalTensor>&, int rank)>;

/// What the user reads when `plan` is run on `ranks` threads with changed inputs; empty: no error.
std::string error_of(const Name& name, const std::string& mesh, int ranks, const Change& change,
                     const DimSizes& dims = sizes, const PlanOptions& options = {}) {
  try {
    run_on_threads(ranks, [&](Communicator& communicator) {
      Plan plan =
          compile_plan(program(), name, Mesh::parse(mesh), dims, communicator.rank(), options);
      std::vector<LocalTensor> inputs = zeros(plan);
      change(inputs, communicator.rank());
      plan.run(communicator, inputs);
    });
  } catch (const CommError& error) {
    return error.what();
  }
  return "";
}

void as_they_are(std::vector<LocalTensor>&, int) {}

DimSizes with(const Name& dim, int64_t size) {
  DimSizes dims = sizes;
  dims[dim] = size;
  return dims;
}

TEST(PlanFaults, NoneWhereAllFits) { EXPECT_EQ(error_of("loss_dp", "d=4", 4, as_they_are), ""); }

TEST(PlanFaults, OfAMeshOfOtherRanks) {
  EXPECT_THAT(error_of("loss_dp", "d=2", 4, as_they_are),
              AllOf(HasSubstr("of 2 (d=2), and this is rank"),
                    HasSubstr("start as many ranks as the mesh has")));
}

TEST(PlanFaults, OfAnAxisThatTheProgramHasNot) {
  EXPECT_THAT(error_of("loss_dp", "t=4", 4, as_they_are),
              HasSubstr("the program has no mesh axis t"));
}

TEST(PlanFaults, OfASizeThatDoesNotDivide) {
  EXPECT_THAT(error_of("loss_dp", "d=4", 4, as_they_are, with("B", 10)),
              HasSubstr("needs d | B: B = 10 does not divide into 4 parts; the nearest are 8 and "
                        "12"));
}

TEST(PlanFaults, OfASizeThatIsMissing) {
  DimSizes dims = sizes;
  dims.erase("F");
  EXPECT_THAT(error_of("loss_dp", "d=4", 4, as_they_are, dims), HasSubstr("size of F"));
}

TEST(PlanFaults, OfATensorOfAnotherShape) {
  const Change change = [](std::vector<LocalTensor>& inputs, int rank) {
    if (rank == 2) inputs[1] = LocalTensor(inputs[1].type, inputs[1].element, {4, 7});
  };
  EXPECT_THAT(error_of("loss_dp", "d=4", 4, change),
              HasSubstr("rank 2: w.w2 is f32[4 7] and has to be f32[4 8], the part of f32[F M]"));
}

TEST(PlanFaults, OfATensorOfAnotherDtype) {
  const Change change = [](std::vector<LocalTensor>& inputs, int rank) {
    if (rank == 3) inputs[2] = LocalTensor(inputs[2].type, Element::f32, inputs[2].extents);
  };
  EXPECT_THAT(error_of("loss_dp", "d=4", 4, change),
              HasSubstr("rank 3: x is f32[2 2 8] and has to be bf16[2 2 8]"));
}

TEST(PlanFaults, OfATensorThatLiesOtherwise) {
  const Change change = [](std::vector<LocalTensor>& inputs, int) {
    std::swap(inputs[0].type.dims[0].axes, inputs[0].type.dims[1].axes);
  };
  EXPECT_THAT(error_of("loss_fsdp", "d=4", 4, change),
              HasSubstr("w.w1 is sharded as f32[M F/d], but the plan expects f32[M/d F]"));
}

TEST(PlanFaults, OfTooFewTensors) {
  EXPECT_THAT(error_of("loss_dp", "d=4", 4, [](auto& inputs, int) { inputs.pop_back(); }),
              HasSubstr("the plan takes 4 tensors, not 3"));
}

TEST(PlanFaults, OfNumbersThatAreNone) {
  for (const double bad : {std::nan(""), double{INFINITY}}) {
    const Change change = [&](std::vector<LocalTensor>& inputs, int rank) {
      if (rank == 1) inputs[0].data<float>()[6] = static_cast<float>(bad);
    };
    EXPECT_EQ(error_of("loss_dp", "d=4", 4, change), "");
    EXPECT_THAT(error_of("loss_dp", "d=4", 4, change, sizes, {.check_finite = true}),
                AllOf(HasSubstr("rank 1: w.w1 is "), HasSubstr("at entry [1 2] of this rank")));
  }
}

/// What the model assumes is asked of every rank's part, and all of them stop before they meet.
TEST(PlanFaults, OfAnEntryThatIsNotAssumed) {
  const Program assuming = Program::from_text(
      "mesh d\ndim B V\nfn f(x: f32[B], y: i32[B]) -> f32[V] {\n"
      "    assume 0 <= y < |V|\n    assume x > 0\n"
      "    return sum(\"B V -> V\", expand(\"B -> B V\", x) * "
      "f32(expand(\"B -> B V\", y) == iota(\"B V; V\")))\n}\n"
      "plan p implements f(x: f32[B/d], y: i32[B/d]) -> f32[V] {\n"
      "    return all_reduce(\"V {U_d} -> V\", sum(\"B/d V -> V {U_d}\", "
      "expand(\"B/d -> B/d V\", x) * f32(expand(\"B/d -> B/d V\", y) == "
      "iota(\"B/d V; V\"))))\n}\n");
  const auto errors_on = [&](const std::shared_ptr<Device>& device, int bad, float x, int32_t y) {
    std::vector<std::string> seen(4), kept(4);
    const auto run = [&](Communicator& communicator) {
      const int rank = communicator.rank();
      const auto error_in = [](const auto& what) -> std::string {
        try {
          what();
        } catch (const PlanError& error) {
          return error.what();
        }
        return "";
      };
      Plan plan = compile_plan(assuming, "p", Mesh::parse("d=4"), {{"B", 8}, {"V", 3}}, rank,
                               {.device = device});
      std::vector<LocalTensor> inputs = zeros(plan);
      for (int i = 0; i < 2; ++i) inputs[0].data<float>()[i] = 1;
      for (size_t i = 0; i < 2; ++i) plan.keep(i, inputs[i]);
      plan.run_kept(communicator);
      if (rank == bad) inputs[0].data<float>()[1] = x, inputs[1].data<int32_t>()[1] = y;
      // Only the bad rank keeps again.
      for (size_t i = 0; rank == bad && i < 2; ++i) plan.keep(i, inputs[i]);
      kept[static_cast<size_t>(rank)] = error_in([&] { plan.run_kept(communicator); });
      seen[static_cast<size_t>(rank)] = error_in([&] { plan.run(communicator, inputs); });
    };
    device->is_host() ? run_on_threads(4, run) : run_on_virtual_ranks(*device, 4, run);
    EXPECT_EQ(kept, seen);
    return seen;
  };
  const auto errors = [&](int bad, float x, int32_t y) {
    std::vector<std::string> seen = errors_on(cpu_device(), bad, x, y);
    EXPECT_EQ(errors_on(emulated_device(1), bad, x, y), seen);
    return seen;
  };
  EXPECT_EQ(errors(2, 1, 2), std::vector<std::string>(4));
  const std::vector<std::string> of_y = errors(2, 1, 3);
  EXPECT_EQ(of_y, std::vector<std::string>(4,
                                           "rank 2: program.shard:4: the plan assumes 0 <= y < "
                                           "|V|, and y[5] is 3"));
  EXPECT_THAT(errors(1, 1, -1)[1], HasSubstr("y[3] is -1"));
  EXPECT_THAT(errors(3, std::nanf(""), 0)[3], HasSubstr("x > 0, and x[7] is nan"));
  EXPECT_THAT(errors(0, 0, 0)[0], HasSubstr("x[1] is 0"));
}

/// At every collective, of every rank.
TEST(PlanFaults, OfARankThatThrowsAtAnyCall) {
  size_t calls = 1, thrown = 0;
  for (size_t call = 0; call < calls; ++call)
    for (int bad = 0; bad < 4; ++bad) {
      std::string seen;
      try {
        run_on_threads(4, [&](Communicator& communicator) {
          Plan plan =
              compile_plan(program(), "step_zero2", Mesh::parse("d=4"), sizes, communicator.rank());
          properties::AtCall faulty(communicator, communicator.rank() == bad ? call : ~size_t{0},
                                    [] { throw std::runtime_error("no more memory"); });
          plan.run(faulty, zeros(plan));
        });
      } catch (const CommError& error) {
        seen = error.what();
        EXPECT_EQ(error.rank(), bad);
      }
      EXPECT_THAT(seen, AllOf(testing::StartsWith("rank " + std::to_string(bad) + ": "),
                              HasSubstr("data_parallel.shard:"), HasSubstr("no more memory")));
      ++thrown;
      if (call == 0 && bad == 0)
        run_on_threads(4, [&](Communicator& communicator) {
          Plan plan =
              compile_plan(program(), "step_zero2", Mesh::parse("d=4"), sizes, communicator.rank());
          properties::AtCall counted(communicator, ~size_t{0}, [] {});
          plan.run(counted, zeros(plan));
          if (communicator.rank() == 0) calls = counted.calls();
        });
    }
  EXPECT_GE(thrown, 20u);
}

size_t exchanges(const std::vector<plan::Step>& steps) {
  size_t count = 0;
  for (const plan::Step& step : steps)
    count += step.is_loop ? static_cast<size_t>(step.times) * exchanges(step.body)
                          : size_t{bool(step.exchange)};
  return count;
}

/// What ranks compare before a run is a hash of the exchanges in the steps: there are no others.
TEST(PlanCalls, AreTheExchangesOfItsSteps) {
  run_on_threads(4, [&](Communicator& communicator) {
    Plan plan =
        compile_plan(program(), "step_zero2", Mesh::parse("d=4"), sizes, communicator.rank());
    properties::AtCall counted(communicator, ~size_t{0}, [] {});
    plan.run(counted, zeros(plan));
    EXPECT_GT(counted.calls(), 0u);
    EXPECT_EQ(counted.calls(), exchanges(plan.steps()));
  });
}

/// What each rank says before it runs the plan.
std::set<std::string> said(const Program& of, const Name& plan, const std::string& mesh,
                           const DimSizes& dims) {
  std::set<std::string> texts;
  for (int64_t rank = 0; rank < 4; ++rank)
    texts.insert(compile_plan(of, plan, Mesh::parse(mesh), dims, rank).state().calls_text());
  return texts;
}

TEST(PlanCalls, AreSaidAlikeByAllRanksOfAPlan) {
  const auto shifted = [](const std::string& by) {
    const std::string there = "ppermute(\"[L/c] M -> [L/c] M\", x, by=" + by + ")";
    return said(Program::from_text("mesh c\ndim L M\nfn f(x: f32[L M]) -> f32[L M] { return x }\n"
                                   "plan p implements f(x: f32[L/c M]) -> f32[L/c M] {\n y = " +
                                   there + "\n return ppermute(\"[L/c] M -> [L/c] M\", y, by=-" +
                                   by + ") }\n"),
                "p", "c=4", {{"L", 8}, {"M", 2}});
  };
  std::set<std::string> all;
  for (const auto& texts :
       {said(program(), "step_zero2", "d=4", sizes), said(program(), "step_zero1", "d=4", sizes),
        said(program(), "step_zero2", "d=4", with("A", 4)), shifted("1"), shifted("2")}) {
    EXPECT_THAT(texts, testing::SizeIs(1));
    all.insert(texts.begin(), texts.end());
  }
  EXPECT_THAT(all, testing::SizeIs(5));
}

}  // namespace
}  // namespace shardproof
