#pragma once
#include <optional>

#include "spec/diag/diagnostic.h"
#include "spec/syntax/ast.h"

namespace shardproof::resolution {

/// The edits that put parameters or fields into the order of `names`; none if they have other
/// names, or share a type: `a b: f32[M]`.
std::optional<Fix> groups_in_order(const Sources& sources,
                                   const std::vector<const syntax::Group*>& groups,
                                   const std::vector<Name>& names);

}  // namespace shardproof::resolution
