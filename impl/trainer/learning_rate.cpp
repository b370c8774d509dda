#include "impl/trainer/learning_rate.h"

#include <algorithm>
#include <cmath>

namespace shardproof {
namespace {

/// Rises from 0 at `begin` to 1 at `end`.
double progress(int64_t step, double begin, double end) {
  return end > begin ? std::clamp((static_cast<double>(step) - begin) / (end - begin), 0.0, 1.0)
                     : 1;
}

}  // namespace

double LearningRate::at(int64_t step) const {
  const auto rise = static_cast<double>(warmup), end = static_cast<double>(steps);
  if (step < warmup) return peak * static_cast<double>(step) / rise;
  switch (schedule) {
    case Schedule::constant:
      return peak;
    case Schedule::cosine:
      return peak * (floor + (1 - floor) * 0.5 * (1 + std::cos(M_PI * progress(step, rise, end))));
    case Schedule::wsd:
      return peak * (1 - (1 - floor) * progress(step, std::max(rise, end * (1 - decay)), end));
  }
  return peak;
}

}  // namespace shardproof
