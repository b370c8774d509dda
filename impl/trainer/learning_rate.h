#pragma once
// How fast a step goes: warm-up, then constant, cosine, or warm-up-stable-decay.
#include <cstdint>

namespace shardproof {

enum class Schedule { constant, cosine, wsd };

/// A function of the step alone, so that a run that is resumed goes on as it would have.
struct LearningRate {
  Schedule schedule = Schedule::constant;
  double peak = 1e-3;
  int64_t warmup = 0;  ///< steps of a linear rise
  int64_t steps = 0;   ///< of the whole run
  double floor = 0;    ///< at the end, as a part of the peak; not of a constant one
  double decay = 0.2;  ///< wsd: the part of the steps in which it falls, linearly

  /// Of a step, from 1.
  double at(int64_t step) const;
};

}  // namespace shardproof
