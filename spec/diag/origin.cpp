#include "spec/diag/origin.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace shardproof {
namespace {

constexpr uintmax_t largest = 16 << 20;  ///< bytes of a file that is shown
constexpr size_t longest = 5000;         ///< bytes of an origin: a path has at most 4,096

/// A number at the end of `text`, which is removed, with the `:` or `-` before it.
std::optional<int> last_number(std::string_view& text, char before) {
  const size_t at = text.find_last_of(":-");
  if (at == std::string_view::npos || text[at] != before) return std::nullopt;
  const std::string_view digits = text.substr(at + 1);
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || digits.empty() || end != digits.data() + digits.size() || value < 1)
    return std::nullopt;
  text.remove_suffix(digits.size() + 1);
  return value;
}

std::string read(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  const auto size = std::filesystem::file_size(path, error);
  if (error || size > largest) return "";
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

std::optional<Origin> origin_of(std::string_view line) {
  line.remove_prefix(line.size() - std::min(line.size(), longest));
  const size_t mark = line.rfind("#@ ");
  if (mark == std::string_view::npos) return std::nullopt;
  std::string_view text = line.substr(mark + 3);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  Origin origin;
  const auto end_column = last_number(text, ':');
  if (!end_column) return std::nullopt;
  std::string_view range = text;
  const auto end_line = last_number(range, '-');
  const auto column = end_line ? last_number(range, ':') : std::nullopt;
  if (column) {
    origin.column = *column, origin.end_line = *end_line, origin.end_column = *end_column;
    text = range;
  } else {
    origin.column = origin.end_column = *end_column;
  }
  const auto first = last_number(text, ':');
  if (!first || text.empty()) return std::nullopt;
  origin.line = *first;
  if (!column) origin.end_line = *first;
  origin.path = text;
  return origin;
}

std::string text_of(const Origin& origin, const std::string& beside) {
  const std::filesystem::path path(origin.path);
  std::string text = read(path);
  if (text.empty() && path.is_relative())
    text = read(std::filesystem::path(beside).parent_path() / path);
  return text;
}

}  // namespace shardproof
