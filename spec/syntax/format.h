#pragma once
// The layout of a file: what `check-sharding --format-source` and editors write.
#include <optional>
#include <string>

namespace shardproof::syntax {

/// The text with lines ending in "\n", no trailing blanks, at most one blank line in a row, no tab
/// in front of a line, and each declaration, statement and closing brace indented by 4 columns per
/// brace around it. Lines that continue one, and comments above one, move with it; alignment inside
/// a line is kept. Nullopt: the text has a syntax error. The result parses to the same tree.
std::optional<std::string> formatted(const std::string& text);

}  // namespace shardproof::syntax
