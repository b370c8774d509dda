#pragma once
// A dim that is twice in a type: `f32[B B M]`.
#include "spec/resolve/types.h"

namespace shardproof::resolution {

/// Adds to the last diagnostic what may have been meant: the dims that the same parameter or result
/// has in the model or in a plan of it; as guesses, an alias of the dim or another dim of the file.
/// Last, the second place gets a name of its own, in all types and patterns of the file alike: an
/// alias that the file declares, or a new one.
void add_other_dims(const TypeContext& context, const std::vector<syntax::SplitExpr>& dims);

}  // namespace shardproof::resolution
