// Collectives between threads, and between virtual ranks of a device, are their definitions,
// bitwise, on the groups of every mesh.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <iostream>
#include <map>

#include "impl/comm/threads.h"
#include "impl/device/emulated/emulated.h"
#include "properties/collectives/drawn.h"
#include "properties/collectives/on_device.h"

namespace shardproof::properties {
namespace {

Results on_threads(const CollectiveCase& c) {
  Results results(world_of(c));
  run_on_threads(world_of(c), [&](Communicator& communicator) {
    results[communicator.rank()] = received(c, communicator);
  });
  return results;
}

/// How many cases there were of what.
std::map<std::string, int> tally;

void count(const CollectiveCase& c) {
  const size_t members = members_of(c, 0).size();
  ++tally["cases"];
  if (members > 1) ++tally["groups of 2 and more"];
  if (members > 1 && static_cast<int>(members) < world_of(c)) ++tally["sub-meshes"];
  if (c.over.size() > 1 && c.over.front() > c.over.back()) ++tally["axes not in order"];
  if (!c.call.count) ++tally["nothing"];
  if (reduces(c.call.collective)) ++tally[name_of(c.call.element)];
}

/// `run(c)` are the results of the case.
template <class Run>
void hold(const Run& run) {
  for (Collective collective : collectives) {
    const CollectiveCase c = drawn_case(collective);
    RC_LOG() << c << "\n";
    const Results results = run(c);
    for (int rank = 0; rank < world_of(c); ++rank) RC_ASSERT((results[rank] == defined(c, rank)));
    count(c);
  }
}

/// Twice: the threads may meet otherwise.
RC_GTEST_PROP(Threads, DoWhatTheCollectiveIs, ()) {
  hold([](const CollectiveCase& c) {
    const Results results = on_threads(c);
    RC_ASSERT((on_threads(c) == results));
    return results;
  });
}

RC_GTEST_PROP(VirtualRanksOnTheCpu, DoWhatTheCollectiveIs, ()) {
  hold([](const CollectiveCase& c) { return on_device(*cpu_device(), c); });
}

RC_GTEST_PROP(VirtualRanksEmulated, DoWhatTheCollectiveIs, ()) {
  hold([](const CollectiveCase& c) { return on_device(*emulated_device(c.seed), c); });
}

/// After the property, whose cases it counts.
TEST(ThreadsCovered, EveryKindOfCase) {
  if (!tally["cases"]) GTEST_SKIP() << "the property was not run";
  for (const auto& [what, number] : tally) std::cout << "    " << what << ": " << number << "\n";
  const auto share = [](const std::string& what) { return 1. * tally[what] / tally["cases"]; };
  EXPECT_GT(share("groups of 2 and more"), 0.3);
  EXPECT_GT(share("sub-meshes"), 0.1);
  EXPECT_GT(share("axes not in order"), 0.05);
  EXPECT_GT(share("nothing"), 0.02);
  for (Element element : elements) EXPECT_GT(share(name_of(element)), 0.01) << name_of(element);
}

}  // namespace
}  // namespace shardproof::properties
