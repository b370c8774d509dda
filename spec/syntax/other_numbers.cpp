#include "spec/syntax/other_numbers.h"

#include <charconv>
#include <string>

#include "spec/syntax/report.h"

namespace shardproof::syntax {
namespace {

constexpr std::string_view digits = "0123456789";

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of(digits) == text.npos;
}

/// The same number as it is written here; empty if it is not known.
std::string same_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    uint32_t value = 0;
    const auto read = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::to_string(value)
                                                                           : "";
  }
  std::string number(text);
  std::erase(number, '_');
  if (number.starts_with('.')) number.insert(0, "0");
  if (number.ends_with('.')) number += "0";
  while (number.size() > 1 && number[0] == '0' && digits.find(number[1]) != digits.npos)
    number.erase(0, 1);
  const size_t point = std::min(number.find('.'), number.size());
  const bool whole = point == number.size();
  const bool read = all_digits(std::string_view(number).substr(0, point)) &&
                    (whole || all_digits(std::string_view(number).substr(point + 1)));
  return read && number != text ? number : "";
}

}  // namespace

Fix other_number(std::string_view text, const SourceRange& range) {
  if (const std::string number = same_number(text); !number.empty())
    return replace(range, number, "write `" + number + "`");
  if (text == "1f1b" || text == "1F1B")
    return replace(range, "one_f_one_b", "the schedule is called `one_f_one_b`");
  const size_t end = std::min(text.find_first_not_of(digits), text.size());
  if (end == text.size()) return advice("with a point it is an f64: `" + std::string(text) + ".0`");
  const std::string rest(text.substr(end));
  if (end > 0 && rest.find_first_not_of("eE+-.0123456789") != rest.npos)
    return advice("a product is `" + std::string(text.substr(0, end)) + " * " + rest +
                  "`; a name begins with a letter");
  return advice("a number is written as in `2`, `0.5` or `1e-6`, between 5e-324 and 1.79e308");
}

}  // namespace shardproof::syntax
