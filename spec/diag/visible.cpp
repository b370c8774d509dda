#include "spec/diag/visible.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>

namespace shardproof {
namespace {

struct Decoded {
  char32_t code;
  size_t bytes;
};

/// The UTF-8 character at `at`; none where the bytes are not the shortest form of one.
std::optional<Decoded> decode(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return Decoded{first, 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + bytes > text.size()) return std::nullopt;
  char32_t code = first & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return std::nullopt;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least[bytes] || surrogate || code > 0x10ffff) return std::nullopt;
  return Decoded{code, bytes};
}

/// Controls, marks of direction, joiners, separators of lines, tags.
bool is_hidden(char32_t code) {
  constexpr char32_t ranges[][2] = {{0x00, 0x08},     {0x0a, 0x1f},      {0x7f, 0x9f},
                                    {0xad, 0xad},     {0x61c, 0x61c},    {0x200b, 0x200f},
                                    {0x2028, 0x202e}, {0x2060, 0x206f},  {0xfeff, 0xfeff},
                                    {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
  return std::any_of(std::begin(ranges), std::end(ranges), [&](const char32_t(&range)[2]) {
    return range[0] <= code && code <= range[1];
  });
}

std::string escape_of(char32_t code, bool byte) {
  char text[16];
  std::snprintf(text, sizeof text, byte ? "\\x%02x" : "\\u{%x}", static_cast<unsigned>(code));
  return text;
}

/// The length of a colour at `at`, ESC [ digits and semicolons m; 0 where there is none.
size_t colour_at(std::string_view text, size_t at) {
  if (text.substr(at, 2) != "\033[") return 0;
  const size_t end = text.find_first_not_of("0123456789;", at + 2);
  return end != std::string_view::npos && text[end] == 'm' && end - at < 10 ? end + 1 - at : 0;
}

bool ends_line(std::string_view text, size_t at) {
  return text[at] == '\n' || text.substr(at, 2) == "\r\n";
}

}  // namespace

Character character_at(std::string_view text, size_t at) {
  const auto decoded = decode(text, at);
  if (!decoded) return {1, escape_of(static_cast<unsigned char>(text[at]), true)};
  if (!is_hidden(decoded->code)) return {decoded->bytes, ""};
  return {decoded->bytes, escape_of(decoded->code, decoded->code < 0x80)};
}

std::string visible(std::string_view text, bool colours) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t colour = colours ? colour_at(text, at) : 0;
    Character each = character_at(text, at);
    if (colour || ends_line(text, at)) each = {std::max<size_t>(colour, 1), ""};
    result += each.escape.empty() ? text.substr(at, each.bytes) : each.escape;
    at += each.bytes;
  }
  return result;
}

}  // namespace shardproof
