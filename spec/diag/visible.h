#pragma once
// Text of files and arguments as a terminal may show it: nothing in it moves the cursor, changes
// the order of characters or hides one.
#include <string>
#include <string_view>

namespace shardproof {

/// The character at `text[at]`: its bytes, and what to show instead; empty: the bytes themselves.
struct Character {
  size_t bytes = 1;
  std::string escape;  ///< `\x1b`, `\u{202e}`; of bytes that are no UTF-8 each `\xff`
};
Character character_at(std::string_view text, size_t at);

/// The text with every character escaped that a terminal would not show; tabs and ends of lines
/// stay. With `colours` the escape sequences of a Palette stay as well.
std::string visible(std::string_view text, bool colours = false);

}  // namespace shardproof
