#include "impl/plan/walk.h"

#include <algorithm>

namespace shardproof::plan {
namespace {

void walk_block(const std::vector<Step>& steps, Executor& executor, int64_t most_times) {
  bool started = false;
  for (const Step& step : steps) {
    if (step.waits) executor.wait(*step.waits);
    started = started || step.starts;
    if (step.starts) {
      executor.start(step);
    } else if (!step.is_loop) {
      executor.run(step);
    } else {
      for (int64_t i = 0; i < std::min(step.times, most_times); ++i) {
        executor.set_index(step.loop, step.reverse ? step.times - 1 - i : i);
        walk_block(step.body, executor, most_times);
      }
    }
  }
  if (started) executor.wait(0);
}

}  // namespace

void walk(const std::vector<Step>& steps, Executor& executor, int64_t most_times) {
  walk_block(steps, executor, most_times);
  executor.wait(0);
}

}  // namespace shardproof::plan
