#pragma once
// `assume 0 <= y < |V|`: what a fn assumes of a parameter.
#include <optional>

#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// Nullopt after an error: it is about one parameter, a tensor of numbers, beside sizes and
/// numbers.
std::optional<ir::Assumption> assumption_of(Body& body, const syntax::Assume& assume);

/// A plan's parameter that its model assumes something of is no sum or maximum over devices: no
/// device has an entry of it (E0109).
void check_assumed_parameters(Body& body);

}  // namespace shardproof::resolution
