// What ranks that are threads do when they do not agree, throw, end early or wait for each other.
#include "impl/comm/threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "impl/comm/call.h"
#include "kernels/bf16.h"

namespace shardproof {
namespace {

using testing::HasSubstr;
using Body = std::function<void(Communicator&)>;

std::vector<int> all(const Communicator& communicator) {
  std::vector<int> ranks(communicator.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void sum_one(Communicator& communicator, const std::vector<int>& ranks, const std::string& place,
             size_t count = 1) {
  std::vector<float> send(count, 1), receive(count);
  communicator.all_reduce(communicator.group(ranks), send.data(), receive.data(), count,
                          Element::f32, Reduction::sum, place);
  EXPECT_EQ(receive, std::vector<float>(count, static_cast<float>(ranks.size())));
}

CommError fault(int world, const Body& body) {
  try {
    run_on_threads(world, body);
  } catch (const CommError& error) {
    return error;
  }
  ADD_FAILURE() << "no fault";
  return CommError(-2, "");
}

TEST(Threads, RunInAnyNumber) {
  for (int world : {1, 2, 5, 24}) {
    std::atomic<int> ranks = 0;
    run_on_threads(world, [&](Communicator& communicator) {
      EXPECT_EQ(communicator.size(), world);
      for (int i = 0; i < 3; ++i) sum_one(communicator, all(communicator), "a");
      ranks += communicator.rank();
    });
    EXPECT_EQ(ranks, world * (world - 1) / 2);
  }
}

// Red if a run starts threads of its own, or if ranks within a rank wait for its thread.
TEST(Threads, AreUsedAgain) {
  const auto threads_of = [](int world) {
    std::vector<std::thread::id> threads(static_cast<size_t>(world));
    run_on_threads(world, [&](Communicator& communicator) {
      threads[static_cast<size_t>(communicator.rank())] = std::this_thread::get_id();
      sum_one(communicator, all(communicator), "a");
      run_on_threads(2, [](Communicator& inner) { sum_one(inner, all(inner), "b"); });
    });
    std::sort(threads.begin(), threads.end());
    EXPECT_EQ(std::adjacent_find(threads.begin(), threads.end()), threads.end());
    return threads;
  };
  std::vector<std::thread::id> seen;
  for (int run = 0; run < 100; ++run)
    for (const std::thread::id each : threads_of(4))
      if (std::find(seen.begin(), seen.end(), each) == seen.end()) seen.push_back(each);
  EXPECT_LE(seen.size(), 12U);  // four ranks, with two in each
}

// Red if a forked process waits for its parent's threads.
TEST(ThreadsDeathTest, AreStartedInAForkedProcess) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "it starts no thread after a fork";
#endif
  run_on_threads(2, [](Communicator&) {});
  EXPECT_EXIT(
      {
        run_on_threads(2, [](Communicator& ranks) { sum_one(ranks, all(ranks), "a"); });
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Threads, SumLargeArraysByParts) {
  run_on_threads(3, [&](Communicator& communicator) {
    sum_one(communicator, all(communicator), "a", (1 << 20) + 7);
    sum_one(communicator, all(communicator), "b", 40'000);
  });
}

TEST(Threads, KeepTheOrderOfTheGroup) {
  run_on_threads(3, [&](Communicator& communicator) {
    const double values[] = {1e30, -1e30, 1}, send = values[communicator.rank()];
    const auto sum = [&](const std::vector<int>& ranks) {
      double result = 0;
      communicator.all_reduce(communicator.group(ranks), &send, &result, 1, Element::f64,
                              Reduction::sum, "a");
      return result;
    };
    EXPECT_EQ(sum({0, 1, 2}), 1);
    EXPECT_EQ(sum({0, 2, 1}), 0);
  });
}

TEST(Threads, SumBf16InF32AndRoundOnce) {
  run_on_threads(3, [&](Communicator& communicator) {
    const float values[] = {256, 1, 1};  // 257 is no bf16
    const uint16_t send = f32_to_bf16(values[communicator.rank()]);
    uint16_t receive = 0;
    communicator.all_reduce(communicator.group({0, 1, 2}), &send, &receive, 1, Element::bf16,
                            Reduction::sum, "a");
    EXPECT_EQ(bf16_to_f32(receive), 258);
  });
}

TEST(Threads, KeepNaN) {
  for (Reduction reduction : {Reduction::sum, Reduction::max, Reduction::min})
    for (int bad : {0, 1, 2})
      run_on_threads(3, [&](Communicator& communicator) {
        const float send = communicator.rank() == bad ? std::nanf("") : 1;
        float receive = 0;
        communicator.all_reduce(communicator.group({0, 1, 2}), &send, &receive, 1, Element::f32,
                                reduction, "a");
        EXPECT_TRUE(std::isnan(receive));
      });
}

TEST(Threads, RefuseAGroupTheyAreNotIn) {
  EXPECT_THAT(fault(2, [](Communicator& communicator) { communicator.group({0}); }).what(),
              HasSubstr("rank 1 of 2 cannot make a group of ranks 0"));
  EXPECT_THAT(fault(1,
                    [](Communicator& communicator) {
                      communicator.group({0, 1});
                    })
                  .what(),
              HasSubstr("cannot make a group of ranks 0 1"));
}

/// Every member throws, and the error names both calls.
void expect_disagreement(const std::function<void(Communicator&, Group&, bool odd)>& call,
                         const std::string& one, const std::string& other) {
  std::atomic<int> seen = 0;
  const CommError error = fault(3, [&](Communicator& communicator) {
    try {
      call(communicator, communicator.group({0, 1, 2}), communicator.rank() == 2);
    } catch (const CommError& error) {
      ++seen;
      throw;
    }
  });
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(error.rank(), -1);
  EXPECT_THAT(error.what(), HasSubstr("ranks 0 and 2 disagree: rank 0 calls " + one));
  EXPECT_THAT(error.what(), HasSubstr("rank 2 calls " + other));
}

TEST(Disagreement, OfAnything) {
  double send[6] = {}, receive[6];
  const auto reduce = [&](size_t count, Element element, Reduction reduction, std::string place) {
    return [=, &send](Communicator& communicator, Group& group) {
      double own[6];
      communicator.all_reduce(group, send, own, count, element, reduction, place);
    };
  };
  const auto usual = reduce(4, Element::f32, Reduction::sum, "a.shard:3");
  const auto against = [&](const auto& odd, const std::string& text) {
    expect_disagreement(
        [&](Communicator& communicator, Group& group, bool is_odd) {
          is_odd ? odd(communicator, group) : usual(communicator, group);
        },
        "all_reduce(sum) of 4 f32 at a.shard:3", text);
  };
  against(reduce(3, Element::f32, Reduction::sum, "a.shard:3"), "all_reduce(sum) of 3 f32");
  against(reduce(4, Element::i32, Reduction::sum, "a.shard:3"), "all_reduce(sum) of 4 i32");
  against(reduce(4, Element::f32, Reduction::max, "a.shard:3"), "all_reduce(max) of 4 f32");
  against(reduce(4, Element::f32, Reduction::sum, "a.shard:4"),
          "all_reduce(sum) of 4 f32 at a.shard:4");
  against([&](Communicator& communicator,
              Group& group) { communicator.all_gather(group, send, receive, 16, "a.shard:3"); },
          "all_gather of 16 bytes at a.shard:3");
}

TEST(Disagreement, OfWhereAPermuteGoes) {
  const CommError error = fault(3, [](Communicator& communicator) {
    const int rank = communicator.rank(), to = (rank + 1) % 3,
              from = rank == 2 ? 0 : (rank + 2) % 3;
    int receive;
    communicator.permute(communicator.group({0, 1, 2}), &rank, to, &receive, from, 4, "a");
  });
  EXPECT_THAT(error.what(), HasSubstr("rank 1 calls permute of 4 bytes to position 2"));
  EXPECT_THAT(error.what(), HasSubstr("rank 2 calls permute of 4 bytes to position 0 and from 0"));
}

TEST(Faults, OfARankThatThrowsEndTheOthers) {
  for (int late = 0; late < 4; ++late) {
    std::atomic<int> seen = 0;
    const CommError error = fault(4, [&](Communicator& communicator) {
      try {
        for (int i = 0;; ++i) {
          if (communicator.rank() == 3 && i == late) throw std::runtime_error("no more memory");
          sum_one(communicator, all(communicator), "a", 1 << (5 * late));
        }
      } catch (const CommError& error) {
        EXPECT_EQ(error.rank(), 3);
        ++seen;
        throw;
      }
    });
    EXPECT_EQ(seen, 3);
    EXPECT_EQ(error.rank(), 3);
    EXPECT_STREQ(error.what(), "rank 3: no more memory");
  }
}

TEST(Faults, NameOneRankOnce) {
  EXPECT_EQ(said_by(1, "no file"), "rank 1: no file");
  EXPECT_EQ(said_by(1, "rank 0: no file"), "rank 0: no file");  // agreed by all
  EXPECT_EQ(said_by(1, "rank x: no"), "rank 1: rank x: no");
}

TEST(Faults, OfARankThatEndsEarly) {
  const CommError error = fault(3, [](Communicator& communicator) {
    if (communicator.rank() == 1) return;
    sum_one(communicator, {0, 2}, "a");
    sum_one(communicator, all(communicator), "b");
  });
  EXPECT_EQ(error.rank(), 1);
  EXPECT_THAT(error.what(), HasSubstr("rank 1 has ended; rank "));
  EXPECT_THAT(error.what(),
              HasSubstr("waits for rank 1 in all_reduce(sum) of 1 f32 at b, of ranks 0 1 2"));
}

TEST(Faults, OfAnAbort) {
  const CommError error = fault(3, [](Communicator& communicator) {
    if (communicator.rank() == 2)
      communicator.abort("the loss is NaN");
    else
      sum_one(communicator, all(communicator), "a");
  });
  EXPECT_EQ(error.rank(), 2);
  EXPECT_STREQ(error.what(), "rank 2: the loss is NaN");
}

TEST(Faults, StayAfterTheyAreCaught) {
  EXPECT_EQ(fault(2,
                  [](Communicator& communicator) {
                    for (int i = 0; i < 2; ++i)
                      EXPECT_THROW(
                          sum_one(communicator, all(communicator), communicator.rank() ? "a" : "b"),
                          CommError);
                  })
                .rank(),
            -1);
}

TEST(Faults, OfOtherGroupsInACircle) {
  const CommError error = fault(3, [](Communicator& communicator) {
    const std::vector<int> pairs[] = {{0, 1}, {1, 2}, {0, 2}};
    sum_one(communicator, pairs[communicator.rank()], "p" + std::to_string(communicator.rank()));
  });
  EXPECT_THAT(error.what(), HasSubstr("wait for each other: "));
  EXPECT_THAT(error.what(),
              HasSubstr("rank 0 waits for rank 1 in all_reduce(sum) of 1 f32 at p0, of ranks 0 1"));
  EXPECT_THAT(error.what(),
              HasSubstr("rank 1 waits for rank 2 in all_reduce(sum) of 1 f32 at p1, of ranks 1 2"));
  EXPECT_THAT(error.what(),
              HasSubstr("rank 2 waits for rank 0 in all_reduce(sum) of 1 f32 at p2, of ranks 0 2"));
}

TEST(Faults, OfOtherAxes) {
  const CommError error = fault(4, [](Communicator& communicator) {
    const std::vector<int> halves[] = {{0, 1}, {0, 1}, {2, 3}, {2, 3}}, whole = {0, 1, 2, 3};
    const int rank = communicator.rank();
    sum_one(communicator, rank ? halves[rank] : whole, "a");
  });
  EXPECT_THAT(error.what(), HasSubstr("of ranks 0 1 2 3"));
  EXPECT_THAT(error.what(), HasSubstr("of ranks 0 1"));
}

TEST(Faults, AtARandomMomentLeaveNobodyWaiting) {
  for (int round = 0; round < 50; ++round) {
    const CommError error = fault(6, [&](Communicator& communicator) {
      const int rank = communicator.rank();
      const std::vector<int> row = rank < 3 ? std::vector{0, 1, 2} : std::vector{3, 4, 5};
      for (int i = 0; i < 100; ++i) {
        if (rank == round % 6 && i == round) throw std::runtime_error("enough");
        sum_one(communicator, row, "a", 100);
        sum_one(communicator, {rank % 3, rank % 3 + 3}, "b", 3000);
      }
    });
    EXPECT_EQ(error.rank(), round % 6);
  }
}

}  // namespace
}  // namespace shardproof
