#pragma once
// What the model writes at one place, with the plan's axes.
#include <optional>

#include "spec/diag/diagnostic.h"

namespace shardproof {

/// Guesses for a value of the plan, and what is written for the model's: the call that the plan
/// leaves out around it, the call around all of it, or the model's expression.
std::vector<Edit> edits_in_the_plans_axes(const Sources& sources, const SourceRange& plan,
                                          const SourceRange& own, const SourceRange& meant);

/// `slice("H -> H/t", roll("[H]", all_gather("H/t -> H", x), by=1))` for `ppermute("[H/t] ->
/// [H/t]", x, by=1)`: entries move in place of blocks.
std::optional<Edit> roll_for_ppermute(const Sources& sources, const SourceRange& own);

}  // namespace shardproof
