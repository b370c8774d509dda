#pragma once
#include <functional>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// Whether `vanishes` holds for e in all cases of some of its steps: argument positive, negative,
/// or 0. Splits at most three nested steps.
bool in_each_case(Engine& g, Nf e, const std::function<bool(Nf)>& vanishes);

}  // namespace shardproof::algebra
