#pragma once
// `assume 0 <= y < |V|`: what a function assumes of a parameter.
#include <optional>

#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// Nullopt after an error. The assumption must compare one parameter, a tensor of numbers, with
/// sizes and numbers.
std::optional<ir::Assumption> assumption_of(Body& body, const syntax::Assume& assume);

/// E0109 for a plan's parameter that is unreduced or Max while its model assumes something of it:
/// no device holds its entries.
void check_assumed_parameters(Body& body);

}  // namespace shardproof::resolution
