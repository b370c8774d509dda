#pragma once
// The order in which the steps of a plan run: the same for a host, a device and the race check.
#include <limits>

#include "impl/plan/steps.h"

namespace shardproof::plan {

/// What a walk calls. Each call is about all that comes after it.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Loop `loop` counts `value` from here on.
  virtual void set_index(size_t loop, int64_t value) = 0;
  /// The next step in order.
  virtual void run(const Step& step) = 0;
  /// A collective that goes on beside the steps after it.
  virtual void start(const Step& step) = 0;
  /// All started collectives but the last `but` have to end before the next step.
  virtual void wait(size_t but) = 0;
};

/// Walks the steps, loops at most `most_times` times each; waits for all at the end.
void walk(const std::vector<Step>& steps, Executor& executor,
          int64_t most_times = std::numeric_limits<int64_t>::max());

}  // namespace shardproof::plan
