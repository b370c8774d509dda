#include "spec/lsp/position.h"

#include <algorithm>

namespace shardproof::lsp {
namespace {

/// The bytes of the character that begins with this byte; 1 for what begins none.
size_t bytes_of(unsigned char first) {
  if (first >= 0xf0 && first < 0xf8) return 4;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xc0 && first < 0xe0) return 2;
  return 1;
}

/// The line that has the byte at `offset`.
size_t line_at(const SourceFile& file, uint32_t offset) {
  const auto next = std::upper_bound(file.line_starts().begin(), file.line_starts().end(), offset);
  return static_cast<size_t>(next - file.line_starts().begin() - 1);
}

std::string_view line_of(const SourceFile& file, size_t line) {
  const std::string_view text = file.text;
  const size_t begin = file.line_starts()[line];
  size_t end = std::min(text.find('\n', begin), text.size());
  if (end > begin && text[end - 1] == '\r') --end;
  return text.substr(begin, end - begin);
}

/// A number of a position; what is none, or negative, is 0.
size_t number(const Json& position, const char* key) {
  if (!position.is_object() || !position.contains(key)) return 0;
  const Json& value = position.at(key);
  if (value.is_number_unsigned()) return value.get<size_t>();
  return value.is_number_integer() ? static_cast<size_t>(std::max<int64_t>(value.get<int64_t>(), 0))
                                   : 0;
}

}  // namespace

size_t utf16_length(std::string_view text) {
  size_t units = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = bytes_of(static_cast<unsigned char>(text[at]));
    units += bytes == 4 ? 2 : 1;
    at += bytes;
  }
  return units;
}

uint32_t offset_of(const SourceFile& file, const Json& position) {
  const size_t line = number(position, "line"), wanted = number(position, "character");
  if (line >= file.line_starts().size()) return static_cast<uint32_t>(file.text.size());
  const std::string_view text = line_of(file, line);
  size_t at = 0, units = 0;
  while (at < text.size()) {
    const size_t bytes = bytes_of(static_cast<unsigned char>(text[at]));
    units += bytes == 4 ? 2 : 1;
    if (units > wanted) break;
    at = std::min(at + bytes, text.size());
  }
  return file.line_starts()[line] + static_cast<uint32_t>(at);
}

Json position_of(const SourceFile& file, uint32_t offset) {
  offset = std::min(offset, static_cast<uint32_t>(file.text.size()));
  const size_t line = line_at(file, offset);
  const std::string_view text = line_of(file, line);
  const size_t column = std::min<size_t>(offset - file.line_starts()[line], text.size());
  return {{"line", line}, {"character", utf16_length(text.substr(0, column))}};
}

PositionsInOrder::Place PositionsInOrder::at(uint32_t offset) {
  const size_t line = line_at(file_, offset);
  if (line != place_.line || offset < offset_)
    place_ = {line, 0}, offset_ = file_.line_starts()[line];
  place_.character += utf16_length(std::string_view(file_.text).substr(offset_, offset - offset_));
  offset_ = offset;
  return place_;
}

Json range_of(const SourceFile& file, const SourceRange& range) {
  return {{"start", position_of(file, range.begin)},
          {"end", position_of(file, std::max(range.begin, range.end))}};
}

}  // namespace shardproof::lsp
