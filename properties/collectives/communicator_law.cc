// Collectives between threads, and between virtual ranks of a device, are their definitions,
// bitwise, on the groups of every mesh.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <iostream>
#include <map>

#include "impl/comm/staged/staged.h"
#include "impl/comm/threads.h"
#include "impl/comm/virtual/virtual_ranks.h"
#include "properties/collectives/case.h"

namespace shardproof::properties {
namespace {

constexpr Element elements[] = {Element::f64, Element::f32, Element::bf16, Element::i32,
                                Element::u32, Element::u8,  Element::u64};
constexpr Reduction reductions[] = {Reduction::sum, Reduction::max, Reduction::min};
constexpr Collective collectives[] = {Collective::all_gather, Collective::all_reduce,
                                      Collective::reduce_scatter, Collective::all_to_all,
                                      Collective::permute};

template <class T, size_t n>
T drawn(const T (&values)[n]) {
  return *rc::gen::elementOf(std::vector<T>(values, values + n));
}

/// Up to 8 ranks; any axes of the mesh in any order.
void draw_groups(CollectiveCase& c) {
  const size_t axes = *rc::gen::element(1, 2, 3);
  for (size_t axis = 0; axis < axes; ++axis) {
    const int left = 8 / world_of(c);
    c.mesh.push_back(std::min(left, *rc::gen::element(1, 2, 3, 4, 5, 8)));
    if (*rc::gen::element(true, true, false))
      c.over.insert(c.over.begin() + (*rc::gen::arbitrary<bool>() ? c.over.size() : 0), axis);
  }
}

CollectiveCase drawn_case(Collective collective) {
  CollectiveCase c;
  draw_groups(c);
  c.call = {collective, drawn(elements), drawn(reductions)};
  // Beyond the sizes up to which a rank reduces everything itself.
  c.call.count = *rc::gen::element<size_t>(0, 1, 7, 64, 999, 12'000);
  c.call.to = *rc::gen::element(0, 1, 2, 5);
  c.dyadic = *rc::gen::arbitrary<bool>();
  c.seed = *rc::gen::inRange(0u, 1000u);
  return c;
}

using Results = std::vector<Bytes>;  ///< by rank

Results on_threads(const CollectiveCase& c) {
  Results results(world_of(c));
  run_on_threads(world_of(c), [&](Communicator& communicator) {
    results[communicator.rank()] = received(c, communicator);
  });
  return results;
}

/// The buffers are the device's.
Results on(Device& device, const CollectiveCase& c) {
  Results results(world_of(c));
  run_on_virtual_ranks(device, world_of(c), [&](Communicator& communicator) {
    const std::unique_ptr<Queue> queue = device.queue();
    results[communicator.rank()] = received(c, *staged(communicator, device, *queue));
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
    RC_ASSERT((run(c) == results));
    count(c);
  }
}

RC_GTEST_PROP(Threads, DoWhatTheCollectiveIs, ()) { hold(on_threads); }

RC_GTEST_PROP(VirtualRanksOnTheCpu, DoWhatTheCollectiveIs, ()) {
  hold([](const CollectiveCase& c) { return on(*cpu_device(), c); });
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
