#include "impl/compile/turns.h"

#include <set>

namespace shardproof::compile {

using schedule::Work;

std::optional<StageReader> reader_of(const schedule::Sizes& sizes, size_t stage, const Work& work) {
  const auto p = static_cast<size_t>(sizes.p);
  if (work.kind == 'F') {
    const int64_t chunk = work.c + (stage + 1 == p);
    if (chunk == sizes.C) return std::nullopt;
    return StageReader{(stage + 1) % p, {work.m, chunk}};
  }
  const int64_t chunk = work.c - (stage == 0);
  if (work.kind == 'W' || chunk < 0) return std::nullopt;
  return StageReader{(stage + p - 1) % p, {work.m, chunk}};
}

namespace {

/// What a stage has finished, and what it has received.
struct StageState {
  size_t next = 0;
  std::set<Chunk> activations, gradients, forwards;
};

bool is_ready(const StageState& state, const schedule::Sizes& sizes, size_t stage,
              const Work& work) {
  const Chunk chunk{work.m, work.c};
  if (work.kind == 'F') return (stage == 0 && work.c == 0) || state.activations.contains(chunk);
  if (work.kind == 'W') return true;  // its B comes first: the schedule was checked
  const bool last = stage + 1 == static_cast<size_t>(sizes.p) && work.c + 1 == sizes.C;
  return state.forwards.contains(chunk) && (last || state.gradients.contains(chunk));
}

}  // namespace

std::vector<Turn> turns_of(const std::vector<schedule::Timeline>& lines,
                           const schedule::Sizes& sizes, const std::string& kinds) {
  std::vector<Turn> order;
  std::vector<StageState> states(lines.size());
  for (bool moved = true; moved;) {
    moved = false;
    std::vector<Turn> messages;
    for (size_t s = 0; s < lines.size(); ++s) {
      StageState& state = states[s];
      const auto skipped = [&] { return kinds.find(lines[s][state.next].kind) == kinds.npos; };
      while (state.next < lines[s].size() && skipped()) ++state.next;
      if (state.next == lines[s].size()) continue;
      const Work& work = lines[s][state.next];
      if (!is_ready(state, sizes, s, work)) continue;
      order.push_back({s, work});
      if (work.kind == 'F') state.forwards.insert({work.m, work.c});
      if (reader_of(sizes, s, work)) messages.push_back({s, work, true});
      ++state.next;
      moved = true;
    }
    for (const Turn& each : messages) {
      const StageReader to = *reader_of(sizes, each.stage, each.work);
      StageState& state = states[to.stage];
      (each.work.kind == 'F' ? state.activations : state.gradients).insert(to.chunk);
      order.push_back(each);
    }
  }
  for (size_t s = 0; s < lines.size(); ++s)
    if (states[s].next < lines[s].size())
      throw schedule::Problem{"E0504", "stage " + std::to_string(s) + " deadlocks", {}};
  return order;
}

}  // namespace shardproof::compile
