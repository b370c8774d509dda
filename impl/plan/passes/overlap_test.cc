// Random steps give the same bits with overlap as without, the memory of each is free of races, and
// a planted race is found. Run under the thread sanitizer as well.
#include "impl/plan/passes/passes.h"
#include "impl/plan/queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "impl/comm/threads.h"
#include "impl/plan/passes/random_steps.h"
#include "impl/run/runner.h"

namespace shardproof::plan {
namespace {

constexpr int ranks = 3;

/// One of the 60 programs that the tests below share.
Drafted drafted(unsigned seed, bool with_overlap) {
  return planned(Draft(random_choices(seed)).take(), with_overlap);
}

using Results = std::vector<std::vector<float>>;  ///< by rank

void run_rank(Communicator& communicator, const Drafted& program, size_t arena_bytes,
              std::vector<float>& result) {
  std::vector<std::byte> arena(arena_bytes);
  std::vector<std::vector<float>> given(program.given.size(), std::vector<float>(entries));
  for (size_t i = 0; i < entries; ++i)
    given[0][i] = static_cast<float>((i * 7 + static_cast<size_t>(communicator.rank()) * 5) % 11);
  StepContext context;
  context.communicator = &communicator;
  context.loops.resize(program.loops);
  for (const Piece& piece : program.pieces) context.buffers.push_back(arena.data() + piece.offset);
  for (size_t i = 0; i < given.size(); ++i)
    context.buffers[program.given[i]] = reinterpret_cast<std::byte*>(given[i].data());
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  context.groups.push_back(&communicator.group(all));
  const auto run_one = [&](const Step& step) { step.run(step, context); };
  HostRunner runner(context, run_one, run_one);
  walk(program.steps, runner);
  for (size_t i = 1; i < given.size(); ++i)
    result.insert(result.end(), given[i].begin(), given[i].end());
}

Results run(Drafted program) {
  const size_t arena_bytes = place_buffers(program.pieces, true);
  Results results(ranks);
  run_on_threads(ranks, [&](Communicator& communicator) {
    run_rank(communicator, program, arena_bytes, results[static_cast<size_t>(communicator.rank())]);
  });
  return results;
}

size_t count(const std::vector<Step>& steps, bool (*is)(const Step&)) {
  size_t number = 0;
  for (const Step& step : steps) number += is(step) + count(step.body, is);
  return number;
}

std::string race(Drafted program) {
  place_buffers(program.pieces, true);
  return find_race(program.steps, program.pieces, program.given);
}

void expect_same_bits(const Drafted& program) {
  const Drafted plain = planned(program, false), with = planned(program, true);
  RC_ASSERT(race(plain) == "");
  RC_ASSERT(race(with) == "");
  RC_ASSERT(run(plain) == run(with));
}

TEST(Overlap, GivesTheSameBits) {
  size_t started = 0, collectives = 0;
  EXPECT_TRUE(rc::check("overlap gives the same bits", [&] {
    const Drafted program = (*arbitrary_program()).drafted();
    expect_same_bits(program);
    const Drafted with = planned(program, true);
    started += count(with.steps, [](const Step& step) { return step.starts; });
    collectives += count(with.steps, is_collective);
  }));
  EXPECT_GT(3 * started, collectives);
}

/// A failure of the law above is pasted here.
TEST(Overlap, OfPastedPlans) {
  const char* const plans[] = {
      "steps\n"
      "  %1 = all_reduce(%0)\n"
      "  %2 = carry(%1)\n"
      "  for i0 in 0..3:\n"
      "    %3 = all_gather(%0)\n"
      "    %4 = einsum(%3, %2)\n"
      "    %2 = carry(%4)\n"
      "  %5 = result(%2)\n"};
  for (const char* plan : plans)
    EXPECT_TRUE(rc::check(plan, [&] { expect_same_bits(read_drafted(plan)); }));
}

TEST(PlanText, IsReadBack) {
  EXPECT_TRUE(rc::check("plan text is read back", [] {
    const Drafted program = (*arbitrary_program()).drafted();
    for (bool overlapped : {false, true}) {
      const Drafted made = planned(program, overlapped);
      RC_ASSERT(text_of(read_drafted(text_of(made))) == text_of(made));
    }
  }));
}

/// The collectives of the outermost block: those that `are` one of its ops.
std::vector<std::string> places(const Drafted& program, const std::vector<std::string>& are) {
  std::vector<std::string> found;
  for (const Step& step : program.steps)
    if (std::find(are.begin(), are.end(), step.op) != are.end()) found.push_back(step.place);
  return found;
}

TEST(Overlap, KeepsTheOrderOfCollectivesButForGathersAheadOfReductions) {
  int moved = 0;
  EXPECT_TRUE(rc::check("reductions keep their order", [&] {
    const Drafted program = (*arbitrary_program()).drafted(), with = planned(program, true);
    const std::vector<std::string> kept{"all_reduce", "psum_scatter"};
    RC_ASSERT(places(program, kept) == places(with, kept));
    const std::vector<std::string> all{"all_reduce", "psum_scatter", "all_gather"};
    moved += places(program, all) != places(with, all);
  }));
  EXPECT_GT(moved, 5);
}

/// Where ranks have other steps, what depends on what decides nothing.
TEST(Overlap, KeepsTheOrderWhereRanksAreNotAlike) {
  EXPECT_TRUE(rc::check("collectives keep their order", [] {
    const Drafted program = (*arbitrary_program()).drafted();
    Drafted with = program;
    overlap(with.steps, false);
    const std::vector<std::string> ops{"all_reduce", "psum_scatter", "all_gather"};
    RC_ASSERT(places(program, ops) == places(with, ops));
  }));
}

/// A gradient's reduction, a use of its result, and products that need neither.
TEST(Overlap, ComputesBeforeItTakesWhatAReductionLeaves) {
  const auto step = [](const char* op, std::vector<BufferId> reads, BufferId write) {
    Step made;
    made.op = made.place = op;
    made.reads = std::move(reads);
    made.writes = {write};
    return made;
  };
  std::vector<Step> steps{step("einsum", {0}, 1), step("psum_scatter", {1}, 2),
                          step("emit", {2}, 3),   step("einsum", {0}, 4),
                          step("einsum", {3}, 5), step("einsum", {0}, 6)};
  overlap(steps);
  std::string order;
  for (const Step& each : steps) order += std::to_string(each.writes[0]);
  EXPECT_EQ(order, "124356");
}

/// Each wait is needed: without it some step meets a collective that is under way.
TEST(Races, AreFoundWhereAWaitIsMissing) {
  int planted = 0;
  EXPECT_TRUE(rc::check("each wait is needed", [&] {
    const Drafted program = planned((*arbitrary_program()).drafted(), true);
    for (size_t i = 0; i < program.steps.size(); ++i) {
      if (!program.steps[i].waits || program.steps[i].is_loop) continue;
      Drafted broken = program;
      broken.steps[i].waits.reset();
      if (race(broken).empty()) RC_FAIL("without the wait of " + program.steps[i].place);
      ++planted;
    }
  }));
  EXPECT_GT(planted, 50);
}

TEST(Races, AreFoundWhereMemoryIsGivenAwayTooEarly) {
  int found = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    Drafted program = drafted(seed, false);  // lifetimes of collectives that end at once
    for (Step& step : program.steps) step.starts = is_collective(step);
    found += race(program).find("which no step has waited for") != std::string::npos;
  }
  EXPECT_GT(found, 20);
}

TEST(Races, AreFoundWhereNobodyHasWritten) {
  int found = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    Drafted program = drafted(seed, false);
    program.steps.erase(program.steps.begin());
    found += race(program).find("no step has written") != std::string::npos;
  }
  EXPECT_GT(found, 10);
}

std::string fault(const Drafted& program) {
  try {
    run(program);
  } catch (const CommError& error) {
    return error.what();
  }
  return "none";
}

/// The step at this place throws on rank 1; `before` is whether its collective has been made.
void plant_throw(std::vector<Step>& steps, const std::string& place) {
  for (Step& step : steps) {
    if (step.place == place)
      step.run = [run = step.run](const Step& own, StepContext& context) {
        if (context.communicator->rank() == 1) throw std::runtime_error(own.place + " is lost");
        run(own, context);
      };
    plant_throw(step.body, place);
  }
}

TEST(Overlap, HandsOnWhatAnyStepThrows) {
  for (unsigned seed = 1; seed <= 12; ++seed)
    for (const Step& step : drafted(seed, true).steps) {
      if (step.is_loop) continue;
      Drafted plain = drafted(seed, false), with = drafted(seed, true);
      plant_throw(plain.steps, step.place);
      plant_throw(with.steps, step.place);
      EXPECT_EQ(fault(plain), "rank 1: " + step.place + " is lost");
      EXPECT_EQ(fault(with), "rank 1: " + step.place + " is lost");
    }
}

/// Rank 1 comes to the collective only when rank 0 has computed what follows it: without overlap
/// they would deadlock.
TEST(Overlap, ComputesWhileACollectiveIsUnderWay) {
  std::atomic<bool> computed = false;
  Results results(2);
  run_on_threads(2, [&](Communicator& communicator) {
    std::vector<float> memory[3] = {{1}, {0}, {0}};
    StepContext context;
    context.communicator = &communicator;
    context.groups.push_back(&communicator.group({0, 1}));
    for (auto& each : memory) context.buffers.push_back(reinterpret_cast<std::byte*>(each.data()));
    std::vector<Step> steps(3);
    steps[0].op = "all_reduce";
    steps[0].reads = {0};
    steps[0].writes = {1};
    steps[0].run = [&](const Step&, StepContext& f) {
      if (communicator.rank() == 1) computed.wait(false);
      communicator.all_reduce(*f.groups[0], floats(f, 0), floats(f, 1), 1, Element::f32,
                              Reduction::sum, "sum");
    };
    steps[1].op = "einsum";
    steps[1].writes = {2};
    steps[1].run = [&](const Step&, StepContext& f) {
      floats(f, 2)[0] = 5;
      if (communicator.rank() == 0) computed = true;
      computed.notify_all();
    };
    steps[2].op = "result";
    steps[2].reads = steps[2].writes = {1};
    steps[2].run = [](const Step&, StepContext& f) { floats(f, 1)[0] += 1; };
    overlap(steps);
    const auto run_one = [&](const Step& step) { step.run(step, context); };
    HostRunner runner(context, run_one, run_one);
    walk(steps, runner);
    results[static_cast<size_t>(communicator.rank())] = memory[1];
  });
  EXPECT_EQ(results, Results({{3}, {3}}));
}

}  // namespace
}  // namespace shardproof::plan
