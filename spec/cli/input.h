#pragma once
// Files as text, with the reason where one is not.
#include <istream>
#include <optional>
#include <string>

#include "spec/resolve/resolve.h"

namespace shardproof::cli {

struct Input {
  std::optional<std::string> text;
  std::string why;   ///< "is a directory"; empty when there is a text
  std::string hint;  ///< "did you mean ffn.shard?"; may be empty
};

/// Reads a file ("-": `in`). A directory, an empty file and bytes that are no text are refused.
Input read_input(const std::string& path, std::istream& in);

/// A reader that has `text` at `path` and reads everything else from disk.
FileReader reader_with(const std::string& path, const std::string& text);

/// E0001 without a place.
Diagnostic unreadable(const std::string& path, const Input& input);

}  // namespace shardproof::cli
