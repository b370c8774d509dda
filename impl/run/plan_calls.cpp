#include "impl/run/plan_calls.h"

#include "kernels/fnv1a.h"

namespace shardproof::plan {
namespace {

using Groups = std::vector<std::vector<int>>;

void mix(const std::string& text, uint64_t& hash) {
  hash = fnv1a(std::string_view("\0", 1), fnv1a(text, hash));
}

void mix(const std::vector<Slot>& slots, uint64_t& hash) {
  for (const Slot& slot : slots) {
    mix(slot.name + ": " + to_string(slot.type), hash);
    for (int64_t extent : slot.extents) mix(std::to_string(extent), hash);
  }
}

/// In a permute, ranks have different positions but the same shift.
Call same_on_all(const Exchange& exchange, int members) {
  if (exchange.collective != Collective::permute) return exchange.call(members, StepContext());
  Exchange same = exchange;
  same.position = 0;
  if (!same.shift.known) same.shift = {.known = 0, .ref = {}};
  return same.call(members, StepContext());
}

std::string text_of(const Exchange& exchange, size_t members, const std::string& place) {
  const bool computed = exchange.collective == Collective::permute && !exchange.shift.known;
  const Call call = same_on_all(exchange, static_cast<int>(members));
  return (computed ? "by a shift that is computed, " : "") + std::to_string(members) + " " +
         to_string(PlacedCall{call, place});
}

void mix(const std::vector<Step>& steps, const Groups& groups, uint64_t& hash) {
  for (const Step& step : steps) {
    if (step.is_loop) {
      mix("loop " + std::to_string(step.times), hash);
      mix(step.body, groups, hash);
      mix("end", hash);
    } else if (step.exchange) {
      mix(text_of(*step.exchange, groups.at(step.exchange->group).size(), step.place), hash);
    }
  }
}

}  // namespace

uint64_t hash_of_sizes(const std::vector<Slot>& inputs, const std::vector<Slot>& outputs) {
  uint64_t hash = fnv1a("");
  mix(inputs, hash);
  mix("->", hash);
  mix(outputs, hash);
  return hash;
}

uint64_t hash_of_calls(const std::vector<Step>& steps, const Groups& groups, uint64_t seed) {
  mix(steps, groups, seed);
  return seed;
}

}  // namespace shardproof::plan
