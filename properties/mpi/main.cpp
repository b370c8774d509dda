// mpi_collectives laws|ordered_laws|store|<a fault>: collectives between 4 processes are their
// definitions, and what happens when ranks disagree, throw, end or are killed.
#include <csignal>
#include <cstring>
#include <iostream>
#include <map>
#include <random>
#include <thread>

#include "impl/comm/mpi/mpi_communicator.h"
#include "impl/comm/mpi/mpi_store.h"
#include "properties/collectives/case.h"

namespace shardproof::properties {
namespace {

constexpr int cases = 400;

template <class T>
T drawn(std::mt19937_64& rng, std::initializer_list<T> values) {
  return values.begin()[rng() % values.size()];
}

/// The same on all ranks.
CollectiveCase drawn_case(std::mt19937_64& rng) {
  CollectiveCase c;
  c.mesh = drawn<std::vector<int>>(rng, {{4}, {2, 2}, {1, 4}, {2, 1, 2}});
  for (size_t axis = 0; axis < c.mesh.size(); ++axis)
    if (rng() % 3) c.over.insert(c.over.begin() + (rng() % 2 ? c.over.size() : 0), axis);
  c.call = {static_cast<Collective>(rng() % 5), static_cast<Element>(rng() % 7),
            static_cast<Reduction>(rng() % 3)};
  c.call.count = drawn<size_t>(rng, {0, 1, 7, 64, 999, 20'001});
  c.call.to = static_cast<int>(rng() % 4);
  c.dyadic = rng() % 2;
  c.seed = rng() % 1000;
  return c;
}

/// Throws where a rank receives anything else than the definition says.
void hold(Communicator& communicator, bool ordered) {
  if (communicator.size() != 4)
    throw std::runtime_error("needs 4 ranks, not " + std::to_string(communicator.size()));
  std::mt19937_64 rng(1);
  for (int i = 0; i < cases; ++i) {
    const CollectiveCase c = drawn_case(rng);
    if (i % 2) communicator.begin_sequence("case " + std::to_string(i));
    const Bytes got = received(c, communicator);
    communicator.end_sequence();
    const bool same = got == defined(c, communicator.rank());
    std::string why = same ? "" : "the bits differ";
    if (!ordered) why = beyond_bound(c, communicator.rank(), got);
    if (why.empty()) continue;
    std::cerr << c << ": " << why << std::endl;
    throw std::runtime_error("case " + std::to_string(i));
  }
  if (communicator.rank() == 0)
    std::cout << cases << " cases hold on " << communicator.size() << " ranks" << std::endl;
}

void sum_one(Communicator& communicator, const std::vector<int>& ranks, const std::string& place) {
  const float send = 1;
  float receive = 0;
  communicator.all_reduce(communicator.group(ranks), &send, &receive, 1, Element::f32,
                          Reduction::sum, place);
  if (receive != static_cast<float>(ranks.size())) throw std::runtime_error("a wrong sum");
}

const std::vector<int> everybody{0, 1, 2, 3};

/// A few steps of three collectives, in which `at(step)` may happen.
template <class At>
void steps(Communicator& communicator, const At& at) {
  const std::vector<int> halves[] = {{0, 1}, {2, 3}};
  for (int step = 0; step < 5; ++step) {
    sum_one(communicator, everybody, "first");
    if (step == 3) at();
    sum_one(communicator, halves[communicator.rank() / 2], "second");
  }
}

/// All members are in one group, and say who was told of the disagreement.
void differ(Communicator& communicator) {
  const int rank = communicator.rank();
  steps(communicator, [&] {
    try {
      sum_one(communicator, everybody, rank == 2 ? "ffn.shard:9" : "ffn.shard:7");
    } catch (const CommError& error) {
      std::cout << "told " + std::to_string(rank) + ": " + error.what() + "\n" << std::flush;
      std::this_thread::sleep_for(std::chrono::seconds(1));  // the first to throw ends all
      throw;
    }
  });
}

using Body = void (*)(Communicator&, int rank);
const std::map<std::string, Body> faults = {
    {"differ", [](Communicator& communicator, int) { differ(communicator); }},
    {"axes",
     [](Communicator& communicator, int rank) {
       steps(communicator, [&] {
         sum_one(communicator, rank == 1 ? std::vector{1, 3} : everybody, "axes");
       });
     }},
    {"circle",
     [](Communicator& communicator, int rank) {
       const std::vector<int> pairs[] = {{0, 1}, {1, 2}, {2, 3}, {0, 3}};
       sum_one(communicator, pairs[rank], "p" + std::to_string(rank));
     }},
    {"throw",
     [](Communicator& communicator, int rank) {
       steps(communicator, [&] {
         if (rank == 2) throw std::runtime_error("no more memory");
       });
     }},
    {"throw_in_sequence",
     [](Communicator& communicator, int rank) {
       const CallSequence sequence(communicator, "five steps");
       steps(communicator, [&] {
         if (rank == 2) throw std::runtime_error("no more memory");
       });
     }},
    {"kill",
     [](Communicator& communicator, int rank) {
       steps(communicator, [&] {
         if (rank == 2) std::raise(SIGKILL);
       });
     }},
    {"abort",
     [](Communicator& communicator, int rank) {
       steps(communicator, [&] {
         if (rank == 2) communicator.abort("the loss is NaN");
       });
     }},
    {"truncated",
     [](Communicator& communicator, int rank) {
       char send[64] = {}, receive[64];
       Group& group = communicator.group(everybody);
       communicator.permute(group, send, rank, receive, rank, 4, "checked");
       const CallSequence sequence(communicator, "a permute");
       communicator.permute(group, send, (rank + 1) % 4, receive, (rank + 3) % 4,
                            rank == 1 ? 64 : 4, "in a sequence");
     }},
    {"store",
     [](Communicator& communicator, int rank) {
       const std::unique_ptr<Store> store = mpi_store(Milliseconds(20'000));
       meet(*store, rank, 4, Milliseconds(20'000));
       store->set("of " + std::to_string(rank), std::to_string(rank * rank));
       for (int other = 0; other < 4; ++other)
         if (store->get("of " + std::to_string(other), Milliseconds(20'000)) !=
             std::to_string(other * other))
           throw std::runtime_error("a wrong value");
       sum_one(communicator, everybody, "last");
       if (rank == 0) std::cout << "they have met" << std::endl;
     }},
    {"end",
     [](Communicator& communicator, int rank) {
       for (int step = 0; step < (rank == 2 ? 2 : 3); ++step)
         sum_one(communicator, everybody, "last");
     }},
};

void run(const std::string& what, Communicator& communicator) {
  if (what == "laws" || what == "ordered_laws") return hold(communicator, what == "ordered_laws");
  faults.at(what)(communicator, communicator.rank());
}

}  // namespace
}  // namespace shardproof::properties

int main(int argc, char** argv) {
  using namespace shardproof;
  const std::string what = argc > 1 ? argv[1] : "laws";
  return run_on_mpi(
      argc, argv, [&](Communicator& communicator) { properties::run(what, communicator); },
      what == "ordered_laws");
}
