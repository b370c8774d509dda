#pragma once
#include <optional>
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/types/type.h"

namespace shardproof::resolution {

/// How the message of dims_in_one_word begins: for several dims, and for one.
constexpr const char* words_with_spaces = "dims are words, with spaces between them:";
constexpr const char* called_as_declared = "dims are called as they are declared:";

/// Advice for `blm` if the dims B, L and M exist: each dim is a separate word. A single letter is
/// the dim with the capital.
std::optional<Fix> dims_in_one_word(const Name& name, SourceRange range,
                                    const std::vector<Name>& known);

}  // namespace shardproof::resolution
