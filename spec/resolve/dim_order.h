#pragma once
// A value whose dims stand in another order than its type says.
#include <optional>
#include <string>

#include "spec/diag/diagnostic.h"
#include "spec/types/type.h"

namespace shardproof::resolution {

/// The fix for a value of type `actual` that is written as `text` at `range` and has the dims of
/// `wanted` in another order: its own pattern with the result in that order, or a rearrange around
/// it. Null where the dims are others, or one is there twice.
std::optional<Fix> in_order_of(const Type& wanted, const Type& actual, const std::string& text,
                               SourceRange range);

}  // namespace shardproof::resolution
