#pragma once
// The commands that a device's streams get for a plan, as data: launches, and events between the
// streams. The same as DeviceRunner (impl/run/runner.h) issues.
#include <limits>

#include "impl/plan/memory.h"

namespace shardproof::plan {

/// The stream for computation, and the stream for collectives that overlap with it.
constexpr size_t compute_queue = 0, collective_queue = 1, queue_count = 2;

struct Command {
  enum class Kind : uint8_t { launch, record, wait, index };
  Kind kind = Kind::launch;
  size_t queue = compute_queue;  ///< launch, record, wait
  size_t event = 0;              ///< for record and wait: events are numbered in order of recording
  const Step* step = nullptr;    ///< for launch
  size_t loop = 0;               ///< for index: loop `loop` has index `value` from here on
  int64_t value = 0;
};

/// The steps with loops unrolled, at most `most_times` iterations each. A step that `starts` goes
/// to the collective stream, after all earlier work; a step that `waits` makes the compute stream
/// wait. At the end the compute stream has waited for everything. Refers to the steps.
std::vector<Command> commands_of(const std::vector<Step>& steps,
                                 int64_t most_times = std::numeric_limits<int64_t>::max());

/// A data race that the order of the streams allows: a step reads a buffer that is not written yet,
/// or that another buffer at the same offset overwrote, or writes one that another step may still
/// use, or two collectives have no happens-before order. Empty if there is none. Buffers without an
/// offset (of 0 bytes) are those that `given` lists: the caller passes them to each run.
/// `same`: pairs of them that are the same memory.
std::string find_race(const std::vector<Command>& commands, const std::vector<Piece>& pieces,
                      const std::vector<BufferId>& given,
                      const std::vector<std::pair<BufferId, BufferId>>& same = {});

/// The same for the commands of these steps.
std::string find_race(const std::vector<Step>& steps, const std::vector<Piece>& pieces,
                      const std::vector<BufferId>& given,
                      const std::vector<std::pair<BufferId, BufferId>>& same = {});

}  // namespace shardproof::plan
