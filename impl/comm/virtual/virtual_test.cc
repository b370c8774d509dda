// Virtual ranks notice what ranks that are threads notice.
#include "impl/comm/virtual/virtual_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "impl/comm/staged/staged.h"
#include "impl/device/forwarding.h"

namespace shardproof {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Body = std::function<void(Communicator&)>;

void sum_one(Communicator& communicator, const std::vector<int>& ranks, const std::string& place,
             size_t count = 1) {
  const std::vector<float> send(count, 1);
  std::vector<float> receive(count);
  communicator.all_reduce(communicator.group(ranks), send.data(), receive.data(), count,
                          Element::f32, Reduction::sum, place);
  EXPECT_EQ(receive, std::vector<float>(count, static_cast<float>(ranks.size())));
}

std::string fault(Device& device, int world, const Body& body) {
  try {
    run_on_virtual_ranks(device, world, body);
  } catch (const CommError& error) {
    return error.what();
  }
  return "no fault";
}

std::string fault(int world, const Body& body) { return fault(*cpu_device(), world, body); }

std::vector<int> all(const Communicator& communicator) {
  std::vector<int> ranks(communicator.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

TEST(VirtualRanks, RunInAnyNumber) {
  for (int world : {1, 2, 5, 24})
    EXPECT_EQ(fault(world,
                    [&](Communicator& communicator) {
                      EXPECT_EQ(communicator.size(), world);
                      for (size_t count : {0, 1, 70'001})
                        sum_one(communicator, all(communicator), "a", count);
                    }),
              "no fault");
}

TEST(VirtualRanks, SayWhereTheyDisagree) {
  const auto said = fault(3, [](Communicator& communicator) {
    sum_one(communicator, {0, 1, 2}, communicator.rank() == 2 ? "ffn.shard:9" : "ffn.shard:7");
  });
  EXPECT_THAT(said, AllOf(HasSubstr("ranks 0 and 2 disagree"), HasSubstr("ffn.shard:9")));
}

TEST(VirtualRanks, SayWhoHasThrownEndedOrWaits) {
  const auto first_throws = [](Communicator& communicator) {
    if (communicator.rank() == 0) throw std::runtime_error("no more memory");
    sum_one(communicator, {0, 1}, "a");
  };
  EXPECT_EQ(fault(2, first_throws), "rank 0: no more memory");
  EXPECT_THAT(fault(2,
                    [](Communicator& communicator) {
                      if (communicator.rank() == 0) sum_one(communicator, {0, 1}, "a");
                    }),
              HasSubstr("rank 1 has ended"));
  EXPECT_THAT(fault(3,
                    [](Communicator& communicator) {
                      const std::vector<int> pairs[] = {{0, 1}, {1, 2}, {0, 2}};
                      sum_one(communicator, pairs[communicator.rank()], "a");
                    }),
              HasSubstr("ranks wait for each other"));
}

/// A device whose copies fail on one rank's queue.
class Failing : public ForwardingDevice {
 public:
  Failing() : ForwardingDevice(cpu_device()) {}
  bool is_host() const override { return false; }
  void copy(Queue& queue, void* to, const void* from, size_t bytes) override {
    if (failing == &queue) throw DeviceError("failing: out of order");
    inner().copy(queue, to, from, bytes);
  }

  const Queue* failing = nullptr;
};

TEST(VirtualRanks, PassOnTheDevicesErrorsAndNobodyWaits) {
  for (size_t count : {1, 70'001}) {
    Failing device;
    std::vector<std::unique_ptr<Queue>> queues;
    for (int rank = 0; rank < 3; ++rank) queues.push_back(device.queue());
    device.failing = queues[1].get();
    const std::string said = fault(device, 3, [&](Communicator& communicator) {
      communicator.use(*queues[communicator.rank()]);
      std::vector<float> send(count), receive(3 * count);
      for (int step = 0; step < 3; ++step) {
        communicator.all_reduce(communicator.group({0, 1, 2}), send.data(), receive.data(), count,
                                Element::f32, Reduction::sum, "a");
        communicator.all_gather(communicator.group({0, 1, 2}), send.data(), receive.data(),
                                count * 4, "b");
      }
    });
    EXPECT_EQ(said, "rank 1: failing: out of order");
  }
}

TEST(Staged, GivesTheHostsBuffersToADevice) {
  const std::shared_ptr<Device> device = cpu_device();
  run_on_virtual_ranks(*device, 3, [&](Communicator& communicator) {
    const std::unique_ptr<Queue> queue = device->queue();
    const std::unique_ptr<Communicator> host = staged(communicator, *device, *queue);
    sum_one(*host, {0, 1, 2}, "a", 1000);
    EXPECT_EQ(host->rank(), communicator.rank());
    EXPECT_EQ(&host->group({0, 1, 2}), &communicator.group({0, 1, 2}));
  });
}

}  // namespace
}  // namespace shardproof
