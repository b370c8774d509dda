#pragma once
#include <optional>

#include "spec/types/type.h"

namespace shardproof::rules {

/// The type of what a ring over `of` = L/c makes of values of type `emitted`, one for each block W.
/// {U_c}: the terms of a block are added while it goes round, and the sum comes to the device
/// whose block it is: `W D {U_c}` becomes `L/c D`. Otherwise each device keeps the values of all
/// blocks, at their places: `W F/c` becomes `L F/c`. Nullopt: no whole position is W alone, or
/// another one is L.
std::optional<Type> emitted_by_ring(const Type& emitted, const Split& of, const Dim& block);

/// Whether its terms are added on the way.
bool travels(const Type& emitted, const Split& of);

}  // namespace shardproof::rules
