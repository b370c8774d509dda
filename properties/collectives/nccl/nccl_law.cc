// Collectives through NCCL are their definitions on the groups of every mesh, sums of floats within
// the bound of any order, or bitwise where that is asked. And what a fault does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <iostream>
#include <thread>

#include "impl/comm/nccl/emulated/counts.h"
#include "impl/comm/nccl/nccl_communicator.h"
#include "impl/device/forwarding.h"
#include "properties/collectives/drawn.h"

namespace shardproof {
namespace {

using testing::HasSubstr;
using Body = std::function<void(Communicator&, Queue&)>;

NcclDevice host_device(Device& device) {
  return {device, 0, [](Queue&) { return nullptr; }};
}

/// What each rank threw.
std::vector<std::string> on_nccl(int world, const Body& body, const NcclOptions& options = {}) {
  const std::unique_ptr<Store> store = local_store();
  std::vector<std::string> faults(world, "no fault");
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank)
    threads.emplace_back([&, rank] {
      const std::shared_ptr<Device> device = cpu_device();
      const std::unique_ptr<Queue> queue = device->queue();
      try {
        run_on_nccl(
            *store, rank, world, host_device(*device),
            [&](Communicator& communicator) {
              communicator.use(*queue);
              body(communicator, *queue);
            },
            options);
      } catch (const std::exception& error) {
        faults[rank] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return faults;
}

/// Those of the mesh, of all ranks.
std::vector<std::vector<int>> groups_of(const properties::CollectiveCase& c) {
  std::vector<std::vector<int>> groups;
  for (int rank = 0; rank < properties::world_of(c); ++rank)
    groups.push_back(properties::members_of(c, rank));
  return groups;
}

RC_GTEST_PROP(Nccl, DoesWhatTheCollectiveIs, ()) {
  NcclOptions options;
  options.deterministic = *rc::gen::arbitrary<bool>();
  std::vector<properties::CollectiveCase> cases;
  cases.push_back(properties::drawn_case(Collective::all_gather));
  for (Collective collective : properties::collectives) {
    cases.push_back(properties::drawn_case(collective));
    cases.back().mesh = cases[0].mesh;
    cases.back().over = cases[0].over;
    // NCCL's own sums of bf16 are rounded in an order that it chooses.
    if (!options.deterministic && cases.back().call.element == Element::bf16)
      cases.back().dyadic = true;
  }
  const properties::CollectiveCase& first = cases[0];
  const int world = properties::world_of(first);
  options.alone = *rc::gen::arbitrary<bool>();
  options.slice = *rc::gen::element<size_t>(64, 4 << 20);
  const bool prepares = *rc::gen::arbitrary<bool>(), one_by_one = *rc::gen::arbitrary<bool>();
  std::vector<std::vector<properties::Bytes>> got(world);
  const auto faults = on_nccl(
      world,
      [&](Communicator& communicator, Queue&) {
        if (!one_by_one) communicator.begin_sequence("the cases");
        if (prepares) communicator.prepare(groups_of(first));
        for (const auto& c : cases)
          got[communicator.rank()].push_back(properties::received(c, communicator));
      },
      options);
  for (int rank = 0; rank < world; ++rank) {
    RC_ASSERT(faults[rank] == "no fault");
    for (size_t i = 0; i < cases.size(); ++i) {
      RC_LOG() << cases[i] << " rank " << rank << "\n";
      if (options.deterministic) RC_ASSERT((got[rank][i] == properties::defined(cases[i], rank)));
      RC_ASSERT(properties::beyond_bound(cases[i], rank, got[rank][i]) == "");
    }
  }
}

void sum_one(Communicator& communicator, const std::vector<int>& ranks, const std::string& place) {
  const float send = 1;
  float receive = 0;
  communicator.all_reduce(communicator.group(ranks), &send, &receive, 1, Element::f32,
                          Reduction::sum, place);
  EXPECT_EQ(receive, static_cast<float>(ranks.size()));
}

TEST(NcclGroups, AreSplitFromTheWorldAndEndedInGoodOrder) {
  const emulated::NcclCounts before = emulated::nccl_counts();
  const auto faults = on_nccl(4, [](Communicator& communicator, Queue&) {
    communicator.prepare({{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0}, {0, 1, 2, 3}});
    communicator.prepare({{0, 1}, {2, 3}});
    const int rank = communicator.rank();
    for (int i = 0; i < 2; ++i) {
      sum_one(communicator, rank < 2 ? std::vector{0, 1} : std::vector{2, 3}, "a");
      sum_one(communicator, rank % 2 ? std::vector{1, 3} : std::vector{0, 2}, "b");
      sum_one(communicator, {0, 1, 2, 3}, "c");
      sum_one(communicator, {rank}, "d");
    }
  });
  EXPECT_THAT(faults, testing::Each("no fault"));
  const emulated::NcclCounts now = emulated::nccl_counts();
  EXPECT_EQ(now.made - before.made, 4);  // the world, of each rank
  EXPECT_EQ(now.splits - before.splits, 2);
  EXPECT_EQ(now.destroyed - before.destroyed, 12);
  EXPECT_EQ(now.aborted, before.aborted);
}

TEST(NcclGroups, OfOneRankAndOfNothingDoNotCallNccl) {
  const int before = emulated::nccl_counts().calls;
  const auto faults = on_nccl(2, [](Communicator& communicator, Queue&) {
    sum_one(communicator, {communicator.rank()}, "a");
    communicator.all_reduce(communicator.group({0, 1}), nullptr, nullptr, 0, Element::f32,
                            Reduction::sum, "b");
  });
  EXPECT_THAT(faults, testing::Each("no fault"));
  EXPECT_EQ(emulated::nccl_counts().calls, before);
}

TEST(NcclSums, KeepNaNInTheGreatest) {
  const auto faults = on_nccl(2, [](Communicator& communicator, Queue&) {
    const float send = communicator.rank() ? std::nanf("") : 1;
    float receive = 0;
    communicator.all_reduce(communicator.group({0, 1}), &send, &receive, 1, Element::f32,
                            Reduction::max, "a");
    EXPECT_TRUE(std::isnan(receive));
  });
  EXPECT_THAT(faults, testing::Each("no fault"));
}

TEST(NcclFaults, OfOneRankEndAll) {
  const emulated::NcclCounts before = emulated::nccl_counts();
  const auto faults = on_nccl(3, [](Communicator& communicator, Queue&) {
    sum_one(communicator, {0, 1, 2}, "a");
    if (communicator.rank() == 1) throw std::runtime_error("no more memory");
    const CallSequence sequence(communicator, "b");
    sum_one(communicator, {0, 1, 2}, "b");
  });
  EXPECT_EQ(faults[1], "no more memory");
  EXPECT_EQ(faults[0], "rank 1: no more memory");
  EXPECT_EQ(faults[2], "rank 1: no more memory");
  EXPECT_EQ(emulated::nccl_counts().aborted - before.aborted, 3);
}

TEST(NcclFaults, SayWhereRanksDisagree) {
  const auto faults = on_nccl(2, [](Communicator& communicator, Queue&) {
    sum_one(communicator, {0, 1}, communicator.rank() ? "ffn.shard:9" : "ffn.shard:7");
  });
  EXPECT_THAT(faults, testing::Each(HasSubstr("ranks 0 and 1 disagree")));
}

TEST(NcclFaults, HaveNcclsOwnText) {
  const auto faults = on_nccl(2, [](Communicator& communicator, Queue&) {
    const CallSequence sequence(communicator, "one gather");
    float data[8] = {};
    communicator.all_gather(communicator.group({0, 1}), data, data + 4, communicator.rank() ? 4 : 8,
                            "ffn.shard:7");
  });
  EXPECT_THAT(faults, testing::Each(testing::AllOf(
                          HasSubstr("bytes at ffn.shard:7, of ranks 0 1: invalid usage"),
                          HasSubstr("the members do not fit together"))));
}

TEST(NcclFaults, NameARankThatDoesNotCome) {
  NcclOptions options;
  options.timeout = Milliseconds(300);
  const auto faults = on_nccl(
      2,
      [](Communicator& communicator, Queue&) {
        if (communicator.rank() == 0) sum_one(communicator, {0, 1}, "a");
      },
      options);
  EXPECT_THAT(faults[0], HasSubstr("waits for rank 1"));
}

/// The host's memory and work, recorded as NCCL sees it: while the work is given.
class Recorded : public ForwardingDevice {
 public:
  Recorded() : ForwardingDevice(cpu_device()) {}
  bool is_host() const override { return false; }
  std::unique_ptr<Graph> record(Queue&, const std::function<void()>& work) override {
    emulated::begin_recording();
    try {
      work();
    } catch (...) {
      emulated::end_recording();
      throw;
    }
    return std::make_unique<Again>(emulated::end_recording());
  }

 private:
  struct Again : Graph {
    explicit Again(std::function<void()> of) : work(std::move(of)) {}
    void run(Queue&) override { work(); }
    std::function<void()> work;
  };
};

/// The sum over `ranks` of each rank's number, recorded and then run `runs` times.
double recorded_sum(Communicator& communicator, Queue& queue, const std::vector<int>& ranks,
                    int runs) {
  Recorded device;
  const double send = communicator.rank();
  double receive = 0;
  const auto graph = communicator.record(device, queue, [&] {
    communicator.all_reduce(communicator.group(ranks), &send, &receive, 1, Element::f64,
                            Reduction::sum, "a");
  });
  EXPECT_EQ(receive, 0);
  for (int run = 0; run < runs; ++run) {
    graph->run(queue);
    communicator.require_alive();
  }
  return receive;
}

TEST(NcclRecording, MakesNoGroups) {
  for (const bool prepares : {true, false}) {
    const auto faults = on_nccl(4, [&](Communicator& communicator, Queue& queue) {
      const int rank = communicator.rank(), first = rank / 2 * 2;
      if (prepares) communicator.prepare({{0, 1}, {2, 3}});
      EXPECT_EQ(recorded_sum(communicator, queue, {first, first + 1}, 2), 2 * first + 1);
    });
    if (prepares)
      EXPECT_THAT(faults, testing::Each("no fault"));
    else
      EXPECT_THAT(faults, testing::Each(HasSubstr("making a group of ranks")));
  }
}

/// The runs of a graph are not compared, and in NCCL the others would wait for ever.
TEST(NcclFaults, NameARankThatEndsBetweenRunsOfAGraph) {
  for (const int early : {0, 1, 2}) {
    const auto faults = on_nccl(3, [&](Communicator& communicator, Queue& queue) {
      communicator.prepare({{0, 1, 2}});
      recorded_sum(communicator, queue, {0, 1, 2}, communicator.rank() == early ? 2 : 3);
    });
    const std::string left = "rank " + std::to_string(early);
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_THAT(faults[rank], rank == early ? HasSubstr("no fault")
                                              : HasSubstr("waits for " + left +
                                                          " in all_reduce(sum) of 1 f64 at a"));
  }
}

TEST(NcclFaults, SayThatNoQueueIsGiven) {
  const std::unique_ptr<Store> store = local_store();
  const std::shared_ptr<Device> device = cpu_device();
  const auto communicator = nccl_communicator(*store, 0, 1, host_device(*device));
  EXPECT_THROW(sum_one(*communicator, {0}, "a"), CommError);
}

}  // namespace
}  // namespace shardproof
