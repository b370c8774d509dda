#pragma once
// A dim that is twice in a type: `f32[B B M]`.
#include <functional>

#include "spec/resolve/types.h"

namespace shardproof::resolution {

/// Another name for a dim of the file: an alias that it declares, or a new one.
struct OtherName {
  Name name;
  std::vector<Edit> declared;  ///< declares the new one
};
/// None if it is not a dim of the file. `used`: names that will not do.
std::optional<OtherName> other_name(const TypeContext& context, const Name& dim,
                                    const std::function<bool(const Name&)>& used);

/// Adds to the last diagnostic what may have been meant: the dims that the same parameter or result
/// has in the model or in a plan of it; as guesses, an alias of the dim or another dim of the file.
/// Last, the second place gets a name of its own, in all types and patterns of the file alike: an
/// alias that the file declares, or a new one.
void add_other_dims(const TypeContext& context, const std::vector<syntax::SplitExpr>& dims);

}  // namespace shardproof::resolution
