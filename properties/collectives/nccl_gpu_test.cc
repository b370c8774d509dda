// NCCL holds the laws of collectives: at one rank always, and at two where the machine has two GPUs
// or a NCCL that lets two processes share one.
#include <gtest/gtest.h>
#include <nccl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "impl/comm/nccl/nccl_communicator.h"
#include "impl/comm/staged/staged.h"
#include "properties/collectives/case.h"

extern char** environ;

namespace shardproof::properties {
namespace {

constexpr int first_to_share = NCCL_VERSION(2, 30, 0);
constexpr const char* rank_name = "SHARDPROOF_NCCL_RANK";
constexpr const char* folder_name = "SHARDPROOF_NCCL_FOLDER";

template <class T>
T drawn(std::mt19937_64& rng, std::initializer_list<T> values) {
  return values.begin()[rng() % values.size()];
}

CollectiveCase case_of(std::mt19937_64& rng, int world) {
  CollectiveCase c;
  c.mesh = drawn<std::vector<int>>(rng, {{world}, {world, 1}, {1, world}});
  for (size_t axis = 0; axis < c.mesh.size(); ++axis)
    if (rng() % 3) c.over.push_back(axis);
  c.call = {static_cast<Collective>(rng() % 5), static_cast<Element>(rng() % 7),
            static_cast<Reduction>(rng() % 3)};
  c.call.count = drawn<size_t>(rng, {0, 1, 7, 64, 999, 200'001});
  c.call.to = static_cast<int>(rng() % 4);
  c.dyadic = rng() % 2;
  c.seed = static_cast<unsigned>(rng() % 1000);
  return c;
}

/// One rank's part. Sums of two are the same in any order, so the bits are too.
void hold(Store& store, int rank, int world, int ordinal, bool deterministic) {
  const std::shared_ptr<Device> device = cuda_device(ordinal);
  const std::unique_ptr<Queue> queue = device->queue();
  NcclOptions options;
  options.deterministic = deterministic;
  options.alone = true;
  options.timeout = Milliseconds(60'000);
  run_on_nccl(
      store, rank, world, {*device, ordinal},
      [&](Communicator& communicator) {
        std::mt19937_64 rng(1);
        const std::unique_ptr<Communicator> host = staged(communicator, *device, *queue);
        for (int i = 0; i < 200; ++i) {
          const CollectiveCase c = case_of(rng, world);
          EXPECT_TRUE(received(c, *host) == defined(c, rank)) << c << " rank " << rank;
        }
      },
      options);
}

TEST(NcclOnAGpu, HoldsTheLawsAtOneRank) {
  for (bool deterministic : {false, true}) hold(*local_store(), 0, 1, 0, deterministic);
}

TEST(NcclOnAGpu, EndsWhatIsUnderWayWhenARankFails) {
  const std::unique_ptr<Store> store = local_store();
  const std::shared_ptr<Device> device = cuda_device();
  const std::unique_ptr<Queue> queue = device->queue();
  NcclOptions options;
  options.alone = true;
  EXPECT_THROW(run_on_nccl(
                   *store, 0, 1, {*device},
                   [&](Communicator& communicator) {
                     communicator.use(*queue);
                     const Buffer from = device->allocate(64), to = device->allocate(64);
                     communicator.all_gather(communicator.group({0}), from.data(), to.data(), 64,
                                             "a");
                     communicator.abort("the loss is NaN");
                     communicator.require_alive();
                   },
                   options),
               CommError);
}

/// This program again, as one rank of two.
pid_t start(int rank, const std::string& folder) {
  setenv(rank_name, std::to_string(rank).c_str(), 1);
  setenv(folder_name, folder.c_str(), 1);
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  setenv("NCCL_MAX_CTAS", "4", 0);
  char program[] = "/proc/self/exe", disabled[] = "--gtest_also_run_disabled_tests",
       filter[] = "--gtest_filter=NcclOnAGpu.DISABLED_IsOneOfTwoRanks";
  char* const arguments[] = {program, disabled, filter, nullptr};
  pid_t child = -1;
  const int code = posix_spawn(&child, program, nullptr, nullptr, arguments, environ);
  unsetenv(rank_name);
  return code == 0 ? child : -1;
}

/// Of the library that is loaded, which may not be the one of the headers: "2.28.9".
std::string text_of_version(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

TEST(NcclOnAGpu, HoldsTheLawsAtTwoRanks) {
  int version = 0;
  ASSERT_EQ(ncclGetVersion(&version), ncclSuccess);
  RecordProperty("nccl", text_of_version(version));
  RecordProperty("gpus", cuda_device_count());
  if (cuda_device_count() < 2 && version < first_to_share)
    GTEST_SKIP() << "one GPU, and NCCL " << text_of_version(version)
                 << ": from 2.30.0 on two processes may share it";
  std::string folder = testing::TempDir() + "nccl-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const pid_t children[] = {start(0, folder), start(1, folder)};
  for (pid_t child : children) {
    ASSERT_GT(child, 0) << "this program cannot be started again";
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "with NCCL " << text_of_version(version) << ": status " << status;
  }
  std::filesystem::remove_all(folder);
}

/// Started by the test above.
TEST(NcclOnAGpu, DISABLED_IsOneOfTwoRanks) {
  const char* own = std::getenv(rank_name);
  ASSERT_NE(own, nullptr) << "only as a rank of HoldsTheLawsAtTwoRanks";
  const int rank = std::atoi(own), ordinal = cuda_device_count() > 1 ? rank : 0;
  for (bool deterministic : {false, true}) {
    const auto store = file_store(std::getenv(folder_name), deterministic ? "ordered" : "free");
    hold(*store, rank, 2, ordinal, deterministic);
  }
}

}  // namespace
}  // namespace shardproof::properties
