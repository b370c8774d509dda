#pragma once
// Fixes as edits of the text.
#include "spec/check/typing.h"

namespace shardproof {

/// The hints of a refusal as fixes, cheapest communication first; none is tried yet.
std::vector<Fix> make_fixes(const Sources& sources, const RefusedOp& refused);

/// The text of a file with edits of that file applied; edits do not overlap.
std::string apply_edits(const std::string& text, int32_t file, std::vector<Edit> edits);

}  // namespace shardproof
