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
  const std::string two = "is in all_reduce.sum. of 1 f32 at ffn.shard:9";
  expect_fault("differ",
               AllOf(ContainsRegex("told 0: ranks 0 and 2 disagree.*ffn.shard:7.*" + two),
                     ContainsRegex("told 1: ranks 1 and 2 disagree.*ffn.shard:7.*" + two),
                     ContainsRegex("told 2: ranks 2 and [013] disagree.*ffn.shard:9.*ffn.shard:7"),
                     ContainsRegex("told 3: ranks 3 and 2 disagree.*ffn.shard:7.*" + two)));
}

TEST(MpiFaults, OfOtherAxes) {
  expect_fault("axes", ContainsRegex("rank .: ranks . and . disagree.*at axes, of ranks 0 1 2 3"));
}

TEST(MpiFaults, OfGroupsInACircle) {
  expect_fault(
      "circle",
      AllOf(ContainsRegex("ranks wait for each other: rank . is in .*at p., of ranks . .;"),
            ContainsRegex("at p., of ranks . . and waits for rank .")));
}

TEST(MpiFaults, OfARankThatThrows) {
  expect_fault("throw", HasSubstr("rank 2: no more memory"));
  expect_fault("unchecked_throw", HasSubstr("rank 2: no more memory"));
}

TEST(MpiFaults, OfAnAbort) { expect_fault("abort", HasSubstr("rank 2: the loss is NaN")); }

TEST(MpiFaults, OfARankThatEndsEarly) {
  expect_fault("end", AllOf(HasSubstr("rank 2 has ended"), HasSubstr("f32 at last")));
}

TEST(MpiFaults, ThatMpiFinds) {
  expect_fault("truncated",
               ContainsRegex("rank 2: permute of 4 bytes .* at unchecked: .*message truncated"));
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

/// The first call is the same on all ranks but for the hash of what comes after it.
TEST(MpiPlanFaults, OfARankWithOtherSizes) {
  expect_fault("other_sizes",
               ContainsRegex("ranks . and . disagree: rank . is in reduce_scatter.*calls hash to"),
               MPI_PLANS);
}

/// Most collectives of a plan are not compared; the first of each run is.
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
