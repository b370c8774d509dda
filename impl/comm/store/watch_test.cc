// Ranks that share only a store learn of each other's faults, and of a call that they do not share.
#include "impl/comm/store/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "impl/comm/store/agree.h"
#include "impl/comm/store/socket.h"

namespace shardproof {
namespace watch_test {

using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;
constexpr Milliseconds soon = 300ms, patient = 20s;

/// body(rank) on a thread each; what they throw, by rank.
template <class Body>
std::vector<std::string> on_ranks(int world, const Body& body) {
  std::vector<std::string> faults(world, "no fault");
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const CommError& error) {
        faults[rank] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return faults;
}

void wait_for_fault(Watch& watch) {
  const auto end = std::chrono::steady_clock::now() + patient;
  while (std::chrono::steady_clock::now() < end) {
    watch.require_alive();
    std::this_thread::sleep_for(1ms);
  }
}

TEST(Watch, TellsAllRanksWhatOneHasSaid) {
  const std::unique_ptr<Store> store = local_store();
  std::atomic<int> stopped = 0;
  const auto faults = on_ranks(3, [&](int rank) {
    Watch watch(
        *store, rank, 3, patient, [] { return ""; }, [&] { ++stopped; });
    if (rank == 1) watch.fail("no more memory");
    wait_for_fault(watch);
  });
  EXPECT_THAT(faults, testing::Each("rank 1: no more memory"));
  EXPECT_EQ(stopped, 3);
}

/// Its store ends with it, and the others learn why.
TEST(Watch, TellsWhatRank0SaidBeforeItEnded) {
  for (int i = 0; i < 3; ++i) {
    const std::string address =
        "127.0.0.1:" + std::to_string(port_of(listen_at(Address::parse("127.0.0.1:0"))));
    const auto faults = on_ranks(3, [&](int rank) {
      const std::unique_ptr<Store> store = tcp_store(address, "a", rank, patient);
      Watch watch(
          *store, rank, 3, patient, [] { return ""; }, [] {});
      if (rank == 0) watch.fail("no more memory");
      watch.require_alive();
      wait_for_fault(watch);
    });
    EXPECT_THAT(faults, testing::Each("rank 0: no more memory"));
  }
}

TEST(Watch, TellsWhatARankFindsWrongItself) {
  const std::unique_ptr<Store> store = local_store();
  const auto faults = on_ranks(2, [&](int rank) {
    const auto look = [rank] { return rank == 1 ? "a link is down" : ""; };
    Watch watch(*store, rank, 2, patient, look, [] {});
    wait_for_fault(watch);
  });
  EXPECT_THAT(faults, testing::Each("rank 1: a link is down"));
}

TEST(Watch, NamesARankThatIsSilent) {
  const std::unique_ptr<Store> store = local_store();
  const auto faults = on_ranks(3, [&](int rank) {
    if (rank == 2) return;
    Watch watch(
        *store, rank, 3, soon, [] { return ""; }, [] {});
    wait_for_fault(watch);
  });
  EXPECT_THAT(faults[0], HasSubstr("rank 2 does not respond"));
  EXPECT_EQ(faults[1], faults[0]);
}

PlacedCall sum_of(size_t count, const std::string& place) {
  return {{Collective::all_reduce, Element::f32, Reduction::sum, count}, place};
}

void begin(CallLog& log, const std::vector<int>& ranks, const PlacedCall& call) {
  log.begin(ranks, call.call, call.place);
}

/// A rank that makes `made[rank]` calls of all ranks and ends, where no rank compares them.
std::vector<std::string> of_ranks_that_make(const std::vector<int>& made) {
  const std::unique_ptr<Store> store = local_store();
  const int world = static_cast<int>(made.size()),
            most = *std::max_element(made.begin(), made.end());
  std::vector<int> everybody(made.size());
  std::iota(everybody.begin(), everybody.end(), 0);
  return on_ranks(world, [&](int rank) {
    CallLog log;
    Watch watch(
        *store, rank, world, patient, [] { return ""; }, [] {}, &log);
    for (int i = 0; i < made[rank]; ++i) begin(log, everybody, sum_of(i + 1, "b"));
    if (made[rank] == most) wait_for_fault(watch);
  });
}

TEST(Watch, NamesARankThatHasLeftAndIsAwaited) {
  for (const int rank : {0, 1, 2}) {
    std::vector<int> made(3, 2);
    made[rank] = 1;
    const auto faults = of_ranks_that_make(made);
    const std::string left = "rank " + std::to_string(rank);
    for (int other = 0; other < 3; ++other)
      if (other == rank)
        EXPECT_EQ(faults[other], "no fault");
      else
        EXPECT_THAT(faults[other],
                    AllOf(testing::StartsWith(left + " has ended; rank "),
                          HasSubstr(" waits for " + left +
                                    " in all_reduce(sum) of 2 f32 at b, of ranks 0 1 2")));
  }
}

TEST(Watch, LetsARankLeaveThatHasMadeAllItsCalls) {
  const std::unique_ptr<Store> store = local_store();
  std::atomic<int> begun = 0;
  const auto faults = on_ranks(3, [&](int rank) {
    CallLog log;
    Watch watch(
        *store, rank, 3, patient, [] { return ""; }, [] {}, &log);
    begin(log, {0, 1, 2}, sum_of(1, "a"));
    if (rank == 2) return;
    begin(log, {0, 1}, sum_of(1, "b"));
    ++begun;
    while (begun < 2 || !store->find("left/2")) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(soon);
    watch.require_alive();
  });
  EXPECT_THAT(faults, testing::Each("no fault"));
}

TEST(CallLog, TellsWhichCallIsMissed) {
  CallLog own, left;
  begin(own, {0, 1}, sum_of(1, "a"));
  begin(left, {0, 1}, sum_of(1, "a"));
  const CallLog::Recording twice = own.recorded([&] {
    begin(own, {0, 1}, sum_of(2, "b"));
    begin(own, {0, 2}, sum_of(3, "c"));
    begin(own, {0, 1}, sum_of(4, "d"));
  });
  const auto missed = [&] { return own.missed(0, 1, read_call_counts(text(left.counts()))); };
  EXPECT_THAT(missed(), HasSubstr("of 2 f32 at b, of ranks 0 1"));
  begin(left, {0, 1}, sum_of(2, "b"));
  EXPECT_THAT(missed(), HasSubstr("of 4 f32 at d"));
  begin(left, {0, 1}, sum_of(4, "d"));
  EXPECT_EQ(missed(), "");
  own.repeat(twice);
  EXPECT_THAT(missed(), HasSubstr("of 2 f32 at b"));
  left.repeat(twice);
  EXPECT_EQ(missed(), "");
  EXPECT_THAT(own.missed(0, 2, {}), HasSubstr("rank 2 has ended; rank 0 waits for rank 2 in"));
}

TEST(CallLog, NamesTheOldestThatIsKnown) {
  CallLog own;
  for (size_t i = 1; i <= 2000; ++i) begin(own, {0, 1}, sum_of(i, "a"));
  EXPECT_THAT(own.missed(0, 1, {{{0, 1}, 1999}}), HasSubstr("of 2000 f32"));
  EXPECT_THAT(own.missed(0, 1, {}), HasSubstr("of 977 f32"));
}

TEST(Watch, LetsRanksLeaveAtDifferentTimes) {
  const std::unique_ptr<Store> store = local_store();
  const auto faults = on_ranks(3, [&](int rank) {
    Watch watch(
        *store, rank, 3, soon, [] { return ""; }, [] {});
    std::this_thread::sleep_for(rank * 2 * soon);
    watch.require_alive();
  });
  EXPECT_THAT(faults, testing::Each("no fault"));
}

/// Ranks agree on several texts one after the other; `texts(rank)` are one rank's.
std::vector<std::string> agreeing(const std::function<std::vector<std::string>(int)>& texts,
                                  Milliseconds timeout = patient) {
  const std::unique_ptr<Store> store = local_store();
  return on_ranks(3, [&](int rank) {
    StoreAgreement agreement(*store, rank, 3);
    for (const std::string& each : texts(rank)) agreement.agree(each, timeout, [] {});
  });
}

TEST(StoreAgreement, LetsPassWhatAllRanksSay) {
  EXPECT_THAT(agreeing([](int) {
                return std::vector<std::string>{"begins a plan with\na line", "is in a sum",
                                                "begins a plan with\na line", ""};
              }),
              testing::Each("no fault"));
}

TEST(StoreAgreement, NamesARankThatSaysSomethingElse) {
  const auto faults = agreeing([](int rank) {
    return std::vector<std::string>{"begins f", rank == 2 ? "begins g" : "begins h"};
  });
  EXPECT_THAT(faults, testing::Each("ranks 0 and 2 disagree: rank 0 begins h, rank 2 begins g"));
}

TEST(StoreAgreement, NamesARankThatDoesNotCome) {
  const auto faults = agreeing(
      [](int rank) { return std::vector<std::string>(rank == 1 ? 0 : 1, "begins f"); }, soon);
  EXPECT_EQ(faults[0], "rank 0 begins f, and waits for rank 1");
  EXPECT_EQ(faults[2], "rank 2 begins f, and waits for rank 1");
}

TEST(StoreAgreement, EndsWhenARankHasFailed) {
  const std::unique_ptr<Store> store = local_store();
  const auto faults = on_ranks(2, [&](int rank) {
    Watch watch(
        *store, rank, 2, patient, [] { return ""; }, [] {});
    if (rank == 1) return watch.fail("no more memory");
    StoreAgreement(*store, 0, 2).agree("begins f", patient, [&] { watch.require_alive(); });
  });
  EXPECT_EQ(faults[0], "rank 1: no more memory");
}

}  // namespace watch_test
}  // namespace shardproof
