// Random step programs give the same bits with overlap as without, the memory of each is free of
// races, and a planted race is found. Run under the thread sanitizer as well.
#include "impl/plan/passes/passes.h"
#include "impl/plan/queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <random>

#include "impl/comm/threads.h"
#include "impl/run/runner.h"

namespace shardproof::plan {
namespace {

using testing::HasSubstr;

constexpr int ranks = 3;
constexpr size_t entries = 40;

/// Steps of one rank on buffers of `entries` floats. All ranks draw the same program.
struct Drafted {
  std::vector<Step> steps;
  std::vector<Piece> pieces;
  std::vector<BufferId> given;  ///< the input, then results
  size_t loops = 0;
};

float* floats(Frame& frame, BufferId id) { return reinterpret_cast<float*>(frame.buffers[id]); }

class Draft {
 public:
  explicit Draft(unsigned seed) : rng_(seed) {}

  Drafted take() {
    const BufferId input = create(0);
    made_.given.push_back(input);
    live_.push_back(input);
    block(30, made_.steps, true);
    for (int i = 0; i < 4; ++i) {
      made_.given.push_back(create(0));
      made_.steps.push_back(move("result", any(), made_.given.back()));
    }
    return std::move(made_);
  }

 private:
  size_t below(size_t n) { return rng_() % n; }
  BufferId any() { return live_[live_.size() - 1 - below(std::min<size_t>(live_.size(), 6))]; }
  BufferId create(size_t bytes = entries * sizeof(float)) {
    made_.pieces.push_back({bytes});
    return made_.pieces.size() - 1;
  }

  Step step(const std::string& op, std::vector<BufferId> reads, BufferId write,
            std::function<void(Frame&)> run) {
    Step step;
    step.op = op;
    step.place = "step " + std::to_string(++steps_);
    step.reads = std::move(reads);
    step.writes = {write};
    step.run = std::move(run);
    return step;
  }

  Step move(const std::string& op, BufferId from, BufferId to) {
    return step(op, {from}, to, [=](Frame& frame) {
      for (size_t i = 0; i < entries; ++i) floats(frame, to)[i] = floats(frame, from)[i] + 0.25f;
    });
  }

  Step product(BufferId a, BufferId b, BufferId to) {
    return step("einsum", {a, b}, to, [=](Frame& frame) {
      float total = 0;
      for (size_t i = 0; i < entries; ++i) {
        total += floats(frame, a)[i];
        floats(frame, to)[i] = 0.5f * total - floats(frame, b)[i];
      }
    });
  }

  /// Whatever its name, a sum.
  Step sum(BufferId from, BufferId to) {
    static const char* const ops[] = {"all_reduce", "psum_scatter", "all_gather"};
    const std::string op = ops[below(3)];
    if (op == "all_gather" && below(2)) from = made_.given[0];  // as weights are
    return step(op, {from}, to, [=, place = "sum " + std::to_string(steps_)](Frame& f) {
      f.communicator->all_reduce(*f.groups[0], floats(f, from), floats(f, to), entries,
                                 Element::f32, Reduction::sum, place);
    });
  }

  /// An update of a buffer in place, which started collectives may be reading.
  Step update(BufferId a, BufferId to) {
    return step("update", {a, to}, to, [=](Frame& frame) {
      for (size_t i = 0; i < entries; ++i)
        floats(frame, to)[i] = 0.25f * (floats(frame, to)[i] + floats(frame, a)[i]);
    });
  }

  void block(size_t count, std::vector<Step>& steps, bool outer) {
    for (size_t i = 0; i < count; ++i) {
      const size_t kind = below(outer ? 10 : 9);
      const BufferId a = any(), b = any();
      if (kind == 9) {
        loop(steps);
      } else if (kind == 8 && a != b && b != made_.given[0]) {
        steps.push_back(update(a, b));
      } else {
        const BufferId to = create();
        steps.push_back(kind < 3 ? sum(a, to) : kind < 5 ? move("pack", a, to) : product(a, b, to));
        live_.push_back(to);
      }
    }
  }

  void loop(std::vector<Step>& steps) {
    const BufferId carry = create();
    steps.push_back(move("carry", any(), carry));
    Step loop;
    loop.is_loop = true;
    loop.loop = made_.loops++;
    loop.times = static_cast<int64_t>(below(4));
    loop.writes = {carry};
    const std::vector<BufferId> before = live_;
    live_.push_back(carry);
    block(6, loop.body, false);
    loop.body.push_back(move("carry", any(), carry));
    live_ = before;
    live_.push_back(carry);
    steps.push_back(std::move(loop));
  }

  std::mt19937 rng_;
  Drafted made_;
  std::vector<BufferId> live_;
  int steps_ = 0;
};

Drafted drafted(unsigned seed, bool with_overlap) {
  Drafted made = Draft(seed).take();
  if (with_overlap) overlap(made.steps);
  find_lifetimes(made.steps, made.pieces);
  return made;
}

using Results = std::vector<std::vector<float>>;  ///< by rank

void run_rank(Communicator& communicator, const Drafted& program, size_t arena_bytes,
              std::vector<float>& result) {
  std::vector<std::byte> arena(arena_bytes);
  std::vector<std::vector<float>> given(program.given.size(), std::vector<float>(entries));
  for (size_t i = 0; i < entries; ++i)
    given[0][i] = static_cast<float>((i * 7 + static_cast<size_t>(communicator.rank()) * 5) % 11);
  Frame frame;
  frame.communicator = &communicator;
  frame.loops.resize(program.loops);
  for (const Piece& piece : program.pieces) frame.buffers.push_back(arena.data() + piece.offset);
  for (size_t i = 0; i < given.size(); ++i)
    frame.buffers[program.given[i]] = reinterpret_cast<std::byte*>(given[i].data());
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  frame.groups.push_back(&communicator.group(all));
  const auto run_one = [&](const Step& step) { step.run(frame); };
  Runner(frame, run_one, run_one).run(program.steps);
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

TEST(Overlap, GivesTheSameBits) {
  size_t started = 0, collectives = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const Drafted plain = drafted(seed, false), with = drafted(seed, true);
    started += count(with.steps, [](const Step& step) { return step.starts; });
    collectives += count(with.steps, is_collective);
    EXPECT_EQ(race(plain), "") << seed;
    EXPECT_EQ(race(with), "") << seed;
    EXPECT_EQ(run(plain), run(with)) << seed;
  }
  EXPECT_GT(3 * started, collectives);
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
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const Drafted plain = drafted(seed, false), with = drafted(seed, true);
    const std::vector<std::string> kept{"all_reduce", "psum_scatter"};
    EXPECT_EQ(places(plain, kept), places(with, kept)) << seed;
    const std::vector<std::string> all{"all_reduce", "psum_scatter", "all_gather"};
    moved += places(plain, all) != places(with, all);
  }
  EXPECT_GT(moved, 5);
}

/// Where ranks have other steps, what depends on what decides nothing.
TEST(Overlap, KeepsTheOrderWhereRanksAreNotAlike) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const Drafted plain = drafted(seed, false);
    Drafted with = plain;
    overlap(with.steps, false);
    const std::vector<std::string> ops{"all_reduce", "psum_scatter", "all_gather"};
    EXPECT_EQ(places(plain, ops), places(with, ops));
  }
}

/// A gradient's reduction, what is made of it, and products that need neither.
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
  for (unsigned seed = 1; seed <= 30; ++seed) {
    const Drafted program = drafted(seed, true);
    for (size_t i = 0; i < program.steps.size(); ++i) {
      if (!program.steps[i].waits || program.steps[i].is_loop) continue;
      Drafted broken = program;
      broken.steps[i].waits.reset();
      EXPECT_NE(race(broken), "") << seed << ": " << program.steps[i].place;
      ++planted;
    }
  }
  EXPECT_GT(planted, 50);
}

TEST(Races, AreFoundWhereMemoryIsGivenAwayTooEarly) {
  int found = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    Drafted program = drafted(seed, false);  // lifetimes of collectives that end at once
    for (Step& step : program.steps) step.starts = is_collective(step);
    found += race(program).find("which nobody has waited for") != std::string::npos;
  }
  EXPECT_GT(found, 20);
}

TEST(Races, AreFoundWhereNobodyHasWritten) {
  int found = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    Drafted program = drafted(seed, false);
    program.steps.erase(program.steps.begin());
    found += race(program).find("nobody has written") != std::string::npos;
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
      step.run = [run = step.run, place](Frame& frame) {
        if (frame.communicator->rank() == 1) throw std::runtime_error(place + " is lost");
        run(frame);
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

/// Rank 1 comes to the collective only when rank 0 has computed behind it: without overlap they
/// would wait for each other for ever.
TEST(Overlap, ComputesWhileACollectiveIsUnderWay) {
  std::atomic<bool> computed = false;
  Results results(2);
  run_on_threads(2, [&](Communicator& communicator) {
    std::vector<float> memory[3] = {{1}, {0}, {0}};
    Frame frame;
    frame.communicator = &communicator;
    frame.groups.push_back(&communicator.group({0, 1}));
    for (auto& each : memory) frame.buffers.push_back(reinterpret_cast<std::byte*>(each.data()));
    std::vector<Step> steps(3);
    steps[0].op = "all_reduce";
    steps[0].reads = {0};
    steps[0].writes = {1};
    steps[0].run = [&](Frame& f) {
      if (communicator.rank() == 1) computed.wait(false);
      communicator.all_reduce(*f.groups[0], floats(f, 0), floats(f, 1), 1, Element::f32,
                              Reduction::sum, "sum");
    };
    steps[1].op = "einsum";
    steps[1].writes = {2};
    steps[1].run = [&](Frame& f) {
      floats(f, 2)[0] = 5;
      if (communicator.rank() == 0) computed = true;
      computed.notify_all();
    };
    steps[2].op = "result";
    steps[2].reads = steps[2].writes = {1};
    steps[2].run = [](Frame& f) { floats(f, 1)[0] += 1; };
    overlap(steps);
    const auto run_one = [&](const Step& step) { step.run(frame); };
    Runner(frame, run_one, run_one).run(steps);
    results[static_cast<size_t>(communicator.rank())] = memory[1];
  });
  EXPECT_EQ(results, Results({{3}, {3}}));
}

}  // namespace
}  // namespace shardproof::plan
