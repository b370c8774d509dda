#pragma once
// A running softmax whose sums are not rescaled when the running maximum grows: the factor that is
// left out, for one carry of the loop or for all.
#include <optional>

#include "spec/check/repair.h"

namespace shardproof {

/// `o0 * exp(m0 - m1)` in place of `o0`, where the carry `m0` becomes `m1`, a maximum of it and
/// others. Nullopt if no such factor makes the results right.
std::optional<Repair> find_rescale(const RepairSearch& search);

}  // namespace shardproof
