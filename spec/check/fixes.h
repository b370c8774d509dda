#pragma once
// Fixes as edits of the text, tried before they are offered.
#include <functional>

#include "spec/check/typing.h"

namespace shardproof {

/// True when the plan is proved with these edits applied.
using TryEdits = std::function<bool(const std::vector<Edit>&)>;

/// The hints of a refusal as fixes, those that check first, cheapest communication first.
std::vector<Fix> make_fixes(const Sources& sources, const RefusedOp& refused,
                            const TryEdits& try_edits);

/// The text of a file with edits of that file applied; edits do not overlap.
std::string apply_edits(const std::string& text, int32_t file, std::vector<Edit> edits);

}  // namespace shardproof
