#pragma once
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// The body of e as one sum over the dim that most of its terms are summed over; none if no term
/// is.
std::optional<Nf> body_of_shared_sum(Engine& g, Nf e);

}  // namespace shardproof::algebra
