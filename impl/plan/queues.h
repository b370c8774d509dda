#pragma once
// The steps of a plan as the queues of a device get them, written out: launches, and events between
// the queues. What DeviceRunner (impl/run/runner.h) does, as data.
#include <limits>

#include "impl/plan/memory.h"

namespace shardproof::plan {

/// The queue that computes, and the one of collectives that go on meanwhile.
constexpr size_t compute_queue = 0, collective_queue = 1, queue_count = 2;

struct Command {
  enum class Kind : uint8_t { launch, record, wait, index };
  Kind kind = Kind::launch;
  size_t queue = compute_queue;  ///< launch, record, wait
  size_t event = 0;              ///< record, wait: events are numbered as they are recorded
  const Step* step = nullptr;    ///< launch
  size_t loop = 0;               ///< index: what loop `loop` counts from here on is `value`
  int64_t value = 0;
};

/// The steps written out, loops at most `most_times` times each. A step that `starts` goes to the
/// collective queue, behind all that was given before; who `waits` has the computing queue wait. At
/// the end that has waited for everything. Refers to the steps.
std::vector<Command> commands_of(const std::vector<Step>& steps,
                                 int64_t most_times = std::numeric_limits<int64_t>::max());

/// What the order of the queues does not forbid and should: a step that reads what is not written
/// yet, or was overwritten by another buffer in the same place, or writes what another one may
/// still be reading or writing, or two collectives without an order; empty where there is none.
/// Buffers that nobody places (of 0 bytes) are those that `given` lists: each run gives them.
/// `same`: pairs of them that are the same memory.
std::string find_race(const std::vector<Command>& commands, const std::vector<Piece>& pieces,
                      const std::vector<BufferId>& given,
                      const std::vector<std::pair<BufferId, BufferId>>& same = {});

/// The same of the steps' commands.
std::string find_race(const std::vector<Step>& steps, const std::vector<Piece>& pieces,
                      const std::vector<BufferId>& given,
                      const std::vector<std::pair<BufferId, BufferId>>& same = {});

}  // namespace shardproof::plan
