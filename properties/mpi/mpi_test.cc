// Collectives between processes of MPI hold their definitions, plans give the bits that they give
// on threads, and no fault of a rank leaves the others waiting: as the user of mpirun sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <random>

#include "impl/checkpoint/test_state.h"

namespace shardproof {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

struct Outcome {
  int exit;
  std::string output;
  double seconds = 0;
};

/// 4 processes of a program.
Outcome on_four_ranks(const std::string& what, const std::string& program = MPI_COLLECTIVES) {
  const auto start = std::chrono::steady_clock::now();
  FILE* pipe =
      popen(("timeout 200 " MPI_COMMAND " " + program + " " + what + " 2>&1").c_str(), "r");
  Outcome outcome{-1, ""};
  for (char buffer[4096]; const size_t length = std::fread(buffer, 1, sizeof buffer, pipe);)
    outcome.output.append(buffer, length);
  const int status = pclose(pipe);
  outcome.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

void expect_laws(const std::string& what) {
  const Outcome outcome = on_four_ranks(what);
  EXPECT_EQ(outcome.exit, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("cases hold on 4 ranks"));
}

template <class Matcher>
void expect_fault(const std::string& what, const Matcher& output,
                  const std::string& program = MPI_COLLECTIVES) {
  const Outcome outcome = on_four_ranks(what, program);
  EXPECT_NE(outcome.exit, 0);
  EXPECT_THAT(outcome.output, output) << what;
  EXPECT_LT(outcome.seconds, 30);
}

TEST(Mpi, SumsWithinTheBound) { expect_laws("laws"); }
TEST(Mpi, SumsInOrderBitwise) { expect_laws("ordered_laws"); }

TEST(MpiStore, IsWhereProcessesMeet) {
  const Outcome outcome = on_four_ranks("store");
  EXPECT_EQ(outcome.exit, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("they have met"));
}

TEST(MpiFaults, OfRanksThatDisagree) {
  const auto told = [](const std::string& rank) {
    return ContainsRegex("told " + rank +
                         ": ranks 0 and 2 disagree: rank 0 is in all_reduce.*ffn.shard:7, .*"
                         "rank 2 is in all_reduce.sum. of 1 f32 at ffn.shard:9");
  };
  expect_fault("differ", AllOf(told("0"), told("1"), told("2"), told("3")));
}

TEST(MpiFaults, OfOtherAxes) {
  expect_fault("axes", ContainsRegex("ranks 0 and 1 disagree.*at axes, of 4 ranks, .*of 2 ranks"));
}

TEST(MpiFaults, OfGroupsInACircle) {
  expect_fault("circle", ContainsRegex("ranks 0 and 1 disagree.*at p0, .*at p1"));
}

TEST(MpiFaults, OfARankThatThrows) {
  expect_fault("throw", HasSubstr("rank 2: no more memory"));
  expect_fault("throw_in_sequence", HasSubstr("rank 2: no more memory"));
}

TEST(MpiFaults, OfAnAbort) { expect_fault("abort", HasSubstr("rank 2: the loss is NaN")); }

TEST(MpiFaults, OfARankThatEndsEarly) {
  expect_fault("end", AllOf(HasSubstr("rank 2 has ended"), HasSubstr("f32 at last")));
}

TEST(MpiFaults, ThatMpiFinds) {
  expect_fault(
      "truncated",
      ContainsRegex("rank 2: permute of 4 bytes .* at in a sequence: .*message truncated"));
}

/// It cannot say anything; mpirun does.
TEST(MpiFaults, OfARankThatIsKilled) {
  expect_fault("kill", ContainsRegex("process rank 2 .*signal 9 .Killed"));
}

void expect_plans(const std::string& what) {
  const Outcome outcome = on_four_ranks(what, MPI_PLANS);
  EXPECT_EQ(outcome.exit, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("6 plans agree with thread ranks on 4 processes"));
}

std::string random_call(int odd) {
  return std::to_string(std::random_device()() % 500 * 2 + static_cast<unsigned>(odd));
}

TEST(MpiPlans, GiveTheBitsOfThreads) { expect_plans("ordered_laws"); }
TEST(MpiPlans, AgreeWithinTheBoundWhereMpiSums) { expect_plans("laws"); }

/// Without overlap, and with.
TEST(MpiPlanFaults, OfARankThatThrowsAtAnyCall) {
  const auto thrown = ContainsRegex("rank 2: .*data_parallel.*: no more memory");
  for (int odd : {0, 1}) expect_fault("throw " + random_call(odd), thrown, MPI_PLANS);
}

TEST(MpiPlanFaults, OfARankThatIsKilledAtAnyCall) {
  const auto killed = ContainsRegex("process rank 2 .*signal 9 .Killed");
  for (int odd : {0, 1}) expect_fault("kill " + random_call(odd), killed, MPI_PLANS);
}

TEST(MpiPlanFaults, OfOverlapWhereMpiTakesCallsFromOneThread) {
  expect_fault("one_thread", HasSubstr("initialize MPI with MPI_THREAD_SERIALIZED"), MPI_PLANS);
}

/// The first call is the same on all ranks.
TEST(MpiPlanFaults, OfARankWithOtherSizes) {
  expect_fault("other_sizes",
               ContainsRegex("ranks 0 and 2 disagree: rank 0 begins step_zero2 on d=4 .*hash to "
                             ".*rank 2 begins step_zero2 on d=4 .*hash to "),
               MPI_PLANS);
}

/// The first run of both is the same; then rank 2 runs another plan.
TEST(MpiPlanFaults, OfARankWithAnotherPlan) {
  expect_fault("other_plan",
               ContainsRegex("ranks 0 and 2 disagree: rank 0 begins step_zero2 on d=4 .*"
                             "rank 2 begins step_zero1 on d=4 "),
               MPI_PLANS);
}

/// One rank is in a collective of its own, the others begin a run.
TEST(MpiPlanFaults, OfARankOutsideThePlan) {
  expect_fault("outside",
               ContainsRegex("ranks 0 and 2 disagree: rank 0 begins step_zero2 on d=4 .*"
                             "rank 2 is in all_gather of 4 bytes at a metric, of 4 ranks"),
               MPI_PLANS);
}

TEST(MpiPlanFaults, OfARankThatEndsBetweenRuns) {
  expect_fault("end", HasSubstr("rank 2 has ended"), MPI_PLANS);
}

TEST(MpiPlanFaults, OfAMeshOfOtherRanks) {
  expect_fault("mesh",
               HasSubstr("the plan is for rank 0 of 2 (d=2), and this is rank 0 of 4: "
                         "start as many ranks as the mesh has"),
               MPI_PLANS);
}

TEST(MpiPlanFaults, OfDataThatIsNotANumber) {
  expect_fault("nan", HasSubstr("rank 1: x is nan at entry [0 1 0]"), MPI_PLANS);
}

void expect_last_loads(const std::filesystem::path& folder) {
  const auto last = checkpoint::newest(folder);
  ASSERT_TRUE(last);
  const uint64_t step = static_cast<uint64_t>(checkpoint::position_of(*last).step);
  for (const char* mesh : {"", "d=4,t=2"})
    EXPECT_EQ(wrong_after_load(*last, Mesh::parse(mesh), checkpoint::mpi_tensors(), step), 0);
  EXPECT_EQ(on_four_ranks("load " + folder.string(), MPI_CHECKPOINTS).exit, 0);
}

TEST(MpiCheckpoints, OfProcessesLoadOnEveryMesh) {
  const checkpoint::TestFolder folder;
  const Outcome outcome = on_four_ranks("save " + folder.path().string(), MPI_CHECKPOINTS);
  EXPECT_EQ(outcome.exit, 0) << outcome.output;
  EXPECT_EQ(checkpoint::all(folder.path()).size(), 2u);
  expect_last_loads(folder.path());
}

TEST(MpiCheckpoints, SurviveARankThatIsKilledWhileSaving) {
  const checkpoint::TestFolder folder;
  save_filled(folder.path(), Mesh::parse("t=2"), checkpoint::mpi_tensors(), {1, {}}, 2, 1);
  for (int kill = 0; kill < 2; ++kill) {
    const std::string after = std::to_string(std::random_device()() % 100);
    expect_fault("save " + folder.path().string() + " " + after,
                 ContainsRegex("process rank 2 .*signal 9 .Killed"), MPI_CHECKPOINTS);
    expect_last_loads(folder.path());
  }
}

}  // namespace
}  // namespace shardproof
