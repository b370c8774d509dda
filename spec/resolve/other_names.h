#pragma once
#include <optional>
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/types/type.h"

namespace shardproof::resolution {

/// Advice for a name of JAX, PyTorch or NumPy that has another name in the notation, such as
/// `psum`.
std::optional<Fix> other_name(const Name& name);

/// The function with the same meaning and the same arguments; empty if there is none.
Name same_function(const Name& name);

/// How the message of dims_in_one_word begins.
constexpr const char* words_with_spaces = "dims are words, with spaces between them:";

/// Advice for `blm` if the dims B, L and M exist: each dim is a separate word.
std::optional<Fix> dims_in_one_word(const Name& name, SourceRange range,
                                    const std::vector<Name>& known);

}  // namespace shardproof::resolution
