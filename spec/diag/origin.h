#pragma once
// Where a generated line comes from: a trailing comment `#@ model.py:51:19-51:57`, written by the
// importer, names the line of the user's own program.
#include <optional>
#include <string>
#include <string_view>

namespace shardproof {

struct Origin {
  std::string path;
  int line = 0, column = 0;          ///< from 1
  int end_line = 0, end_column = 0;  ///< one past the last column; the same as the begin: a point
};

/// The place in the `#@` comment of this line, if it has one that can be read.
std::optional<Origin> origin_of(std::string_view line);

/// The text of the file, relative to the current folder or to that of `beside`; empty if it cannot
/// be read.
std::string text_of(const Origin& origin, const std::string& beside);

}  // namespace shardproof
