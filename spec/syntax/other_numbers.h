#pragma once
// Numbers as other languages write them.
#include <string_view>

#include "spec/diag/diagnostic.h"

namespace shardproof::syntax {

/// What to write for a number that the lexer refuses: `.5`, `1_000`, `0x10`, `2x`. `range` is its
/// place.
Fix other_number(std::string_view text, const SourceRange& range);

}  // namespace shardproof::syntax
