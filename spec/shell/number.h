#pragma once
// Numbers of a command line.
#include <charconv>
#include <string>

namespace shardproof::shell {

/// Whether all of the text is a number that `number` can hold, which it then does: CLI11 clamps
/// numbers that are too large, and strtod those that are too small.
template <class Number>
bool fits(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end;
}

}  // namespace shardproof::shell
