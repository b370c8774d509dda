#pragma once
// Time on a device.
#include <algorithm>
#include <array>
#include <chrono>

#include "impl/device/device.h"

namespace shardproof::bench {

/// Seconds of one `work`, which gives to `queue`: the median of runs of `times` of them, after as
/// many as it takes until clocks have risen and libraries are loaded.
template <class Work>
double seconds(Queue& queue, int times, const Work& work) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const auto timed = [&] {
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) work();
    queue.finish();
    return since(begin) / times;
  };
  constexpr double warm = 0.1;
  const auto begin = Clock::now();
  do timed();
  while (since(begin) < warm);
  std::array<double, 5> runs;
  for (double& run : runs) run = timed();
  std::nth_element(runs.begin(), runs.begin() + runs.size() / 2, runs.end());
  return runs[runs.size() / 2];
}

}  // namespace shardproof::bench
