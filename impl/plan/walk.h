#pragma once
// The order in which a plan's steps run, shared by host, device and race check.
#include <limits>

#include "impl/plan/steps.h"

namespace shardproof::plan {

/// The callbacks of walk(). Each applies to everything after it.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Loop `loop` has index `value` from here on.
  virtual void set_index(size_t loop, int64_t value) = 0;
  /// The next step in order.
  virtual void run(const Step& step) = 0;
  /// Starts a collective that runs in the background.
  virtual void start(const Step& step) = 0;
  /// Waits until all started collectives but the last `but` have ended.
  virtual void wait(size_t but) = 0;
};

/// Calls `executor` for all steps, with at most `most_times` iterations per loop; waits for all
/// collectives at the end.
void walk(const std::vector<Step>& steps, Executor& executor,
          int64_t most_times = std::numeric_limits<int64_t>::max());

}  // namespace shardproof::plan
