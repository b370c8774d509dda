#pragma once
#include <functional>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

using Vanishes = std::function<bool(Nf)>;

/// e with one atom for all of its functions and operators whose terms differ by what vanishes.
Nf with_congruent(Engine& g, Nf e, const Vanishes& vanishes);

}  // namespace shardproof::algebra
