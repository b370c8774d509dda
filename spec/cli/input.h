#pragma once
// Reads files as text, or gives the reason why not.
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "spec/resolve/resolve.h"

namespace shardproof::cli {

struct Input {
  std::optional<std::string> text;
  std::string why;   ///< "is a directory"; empty when there is a text
  std::string hint;  ///< "did you mean ffn.shard?"; may be empty
};

/// Reads a file or a pipe ("-": `descriptor`, or `in` where that is below 0) of at most 16 MB, from
/// a pipe within 10 s. Directories, devices, empty files and bytes that are not text are refused.
Input read_input(const std::string& path, std::istream& in, int descriptor = -1);

/// A reader that has `text` at `path` and reads what that imports from its project, and from the
/// `allowed` folders.
FileReader reader_with(const std::string& path, const std::string& text,
                       const std::vector<std::string>& allowed = {});

/// E0001 without a place.
Diagnostic unreadable(const std::string& path, const Input& input);

}  // namespace shardproof::cli
