// Unrolled, a training step begins the gathers of the next layer while this one computes, and the
// reductions of this layer's gradients do not hold back the next one: by what is before what in the
// commands that the queues get, not by time.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "impl/compile/compile_plan.h"
#include "impl/device/emulated/emulated.h"
#include "impl/plan/queues.h"

namespace shardproof::plan {
namespace {

using Clock = std::array<size_t, queue_count>;

/// A launch in an iteration, of the first or the second layer that the loop's body has.
struct Given {
  const Step* step;
  size_t layer, queue, time;
  Clock known;  ///< how far the queues were when it may begin

  bool after(const Given& other) const { return known[other.queue] >= other.time; }
};

/// The steps of one place are those of both layers, the first layer's before the second's.
std::map<const Step*, size_t> layers_of(const std::vector<Step>& body) {
  std::map<std::string, std::vector<const Step*>> places;
  for (const Step& step : body) places[step.op + " " + step.place].push_back(&step);
  std::map<const Step*, size_t> layers;
  for (const auto& [place, steps] : places)
    for (size_t i = 0; i < steps.size(); ++i) layers[steps[i]] = 2 * i / steps.size();
  return layers;
}

/// The launches of each iteration of the loop.
std::vector<std::vector<Given>> iterations(const std::vector<Step>& steps, const Step& loop) {
  const auto layers = layers_of(loop.body);
  std::vector<std::vector<Given>> result;
  std::array<Clock, queue_count> clocks{};
  std::vector<Clock> events;
  for (const Command& command : commands_of(steps)) {
    Clock& clock = clocks[command.queue];
    if (command.kind == Command::Kind::index && command.loop == loop.loop) result.emplace_back();
    if (command.kind == Command::Kind::record) events.push_back(clock);
    if (command.kind == Command::Kind::wait)
      for (size_t q = 0; q < queue_count; ++q)
        clock[q] = std::max(clock[q], events[command.event][q]);
    if (command.kind != Command::Kind::launch) continue;
    const Clock known = clock;
    const size_t time = ++clock[command.queue];
    if (const auto layer = layers.find(command.step); layer != layers.end())
      result.back().push_back({command.step, layer->second, command.queue, time, known});
  }
  return result;
}

const Given* first(const std::vector<Given>& all, const std::string& op, size_t layer) {
  const auto is = [&](const Given& each) { return each.step->op == op && each.layer == layer; };
  const auto found = std::find_if(all.begin(), all.end(), is);
  return found == all.end() ? nullptr : &*found;
}
const Given* last(const std::vector<Given>& all, const std::string& op, size_t layer) {
  const Given* found = nullptr;
  for (const Given& each : all)
    if (each.step->op == op && each.layer == layer) found = &each;
  return found;
}

/// Whether they go on at the same time in every iteration of the loop.
bool meanwhile(
    const std::vector<std::vector<Given>>& loop,
    const std::function<std::pair<const Given*, const Given*>(const std::vector<Given>&)>& chosen) {
  for (const std::vector<Given>& each : loop) {
    const auto [a, b] = chosen(each);
    if (!a || !b || a->after(*b) || b->after(*a)) return false;
  }
  return !loop.empty();
}

struct Found {
  bool gathers = true, reductions = true;
  int loops = 0;
};

Found found_in(const std::vector<Step>& steps) {
  Found found;
  for (const Step& loop : steps) {
    if (!loop.is_loop || !communicates(loop)) continue;
    ++found.loops;
    const auto all = iterations(steps, loop);
    found.gathers = found.gathers && meanwhile(all, [](const std::vector<Given>& given) {
                      return std::pair(first(given, "all_gather", 1), last(given, "einsum", 0));
                    });
    if (loop.reverse)
      found.reductions =
          found.reductions && meanwhile(all, [](const std::vector<Given>& given) {
            return std::pair(last(given, "psum_scatter", 0), first(given, "einsum", 1));
          });
  }
  return found;
}

/// The step that llama_train proves, of four layers.
std::vector<Step> llama_step(const char* mesh, size_t unroll, bool overlap = true) {
  static const Program program =
      Program::load(SHARDPROOF_SOURCE_DIR "/spec/models/llama_train.shard");
  const DimSizes sizes{{"B", 4}, {"L", 16}, {"M", 16},  {"F", 24}, {"Q", 2},
                       {"K", 2}, {"D", 4},  {"V", 256}, {"N", 4}};
  const Plan plan =
      compile_plan(program, "train_step_sharded", Mesh::parse(mesh), sizes, 1,
                   {.overlap = overlap, .unroll = unroll, .device = emulated_device(1)});
  return plan.steps();
}

/// Every wait is for all that is under way.
void wait_for_all(std::vector<Step>& steps) {
  for (Step& step : steps) {
    if (step.waits) step.waits = 0;
    wait_for_all(step.body);
  }
}

TEST(OverlapLaw, TheNextLayerBeginsInThisOne) {
  const Found by_data = found_in(llama_step("d=2", 2));
  EXPECT_EQ(by_data.loops, 2);
  EXPECT_TRUE(by_data.gathers);
  EXPECT_TRUE(by_data.reductions);
  // Over t a layer's first product needs the gather of an activation, which comes after the
  // reductions of the layer before; the gathers of weights come before them.
  const Found by_both = found_in(llama_step("d=2,t=2", 2));
  EXPECT_EQ(by_both.loops, 2);
  EXPECT_TRUE(by_both.gathers);
}

TEST(OverlapLaw, IsBrokenWhereItIsPlanted) {
  const Found in_place = found_in(llama_step("d=2", 2, false));
  EXPECT_EQ(in_place.loops, 2);
  EXPECT_FALSE(in_place.gathers);
  EXPECT_FALSE(in_place.reductions);
  std::vector<Step> steps = llama_step("d=2", 2);
  wait_for_all(steps);
  const Found waiting = found_in(steps);
  EXPECT_FALSE(waiting.gathers);
  EXPECT_FALSE(waiting.reductions);
}

}  // namespace
}  // namespace shardproof::plan
