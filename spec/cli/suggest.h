#pragma once
// Suggests the nearest existing name for an unknown one.
#include <optional>
#include <string>
#include <vector>

namespace shardproof::cli {

/// The candidate with the fewest edits, at most a third of the word's length (and at least one);
/// a name that differs in case only comes first.
std::optional<std::string> nearest(const std::string& word,
                                   const std::vector<std::string>& candidates);

}  // namespace shardproof::cli
