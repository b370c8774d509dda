#pragma once
#include <optional>
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/types/type.h"

namespace shardproof::resolution {

/// Advice for a name that JAX, PyTorch or NumPy has, and the notation has under another: `psum`.
std::optional<Fix> other_name(const Name& name);

/// The function that does the same with the same arguments; empty: there is none.
Name same_function(const Name& name);

/// `blm`, where the dims B, L and M are known: each is a word of its own.
std::optional<Fix> dims_in_one_word(const Name& name, SourceRange range,
                                    const std::vector<Name>& known);

}  // namespace shardproof::resolution
