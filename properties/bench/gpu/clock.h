#pragma once
// Time on a device.
#include <chrono>

#include "impl/device/device.h"

namespace shardproof::bench {

/// Seconds of one `work`, which gives to `queue`: of `times` of them after three that do not count.
template <class Work>
double seconds(Queue& queue, int times, const Work& work) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 3; ++i) work();
  queue.finish();
  const auto begin = Clock::now();
  for (int i = 0; i < times; ++i) work();
  queue.finish();
  return std::chrono::duration<double>(Clock::now() - begin).count() / times;
}

}  // namespace shardproof::bench
