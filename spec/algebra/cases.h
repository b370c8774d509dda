#pragma once
#include <functional>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// Whether `vanishes` says yes of e in all cases of some steps in it: their argument is positive,
/// negative, or 0. At most three steps are split, one within the other.
bool in_each_case(Engine& g, Nf e, const std::function<bool(Nf)>& vanishes);

}  // namespace shardproof::algebra
