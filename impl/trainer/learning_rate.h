#pragma once
// The learning rate: warm-up, then constant, cosine, or warm-up-stable-decay.
#include <cstdint>

namespace shardproof {

enum class Schedule { constant, cosine, wsd };

/// Depends only on the step, so a resumed run continues with the same rates.
struct LearningRate {
  Schedule schedule = Schedule::constant;
  double peak = 1e-3;
  int64_t warmup = 0;  ///< steps of linear warm-up
  int64_t steps = 0;   ///< of the whole run
  double floor = 0;    ///< the final rate as a fraction of the peak; not used by constant
  double decay = 0.2;  ///< wsd: the fraction of the steps with linear decay

  /// The rate of a step; the first is 1.
  double at(int64_t step) const;
};

}  // namespace shardproof
