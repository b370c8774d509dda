#include "spec/check/shown_indices.h"

#include <cctype>
#include <map>
#include <set>
#include <string>

#include "spec/check/shown_names.h"

namespace shardproof {
namespace {

using NumbersOfDims = std::map<std::string, std::set<size_t>>;  ///< F' has the number 1

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Calls visit(dim, number, begin, end) with the range of `'2` for each index in a text.
template <class Visit>
void for_each_index(const std::string& text, const Visit& visit) {
  constexpr size_t most_digits = 6;
  for (size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 1)) {
    size_t begin = at, end = at + 1;
    while (begin > 0 && in_word(text[begin - 1])) --begin;
    while (end < text.size() && is_digit(text[end])) ++end;
    const bool of_prose = end < text.size() && in_word(text[end]);
    if (begin == at || of_prose || end - at > most_digits) continue;
    const size_t number = end == at + 1 ? 1 : std::stoul(text.substr(at + 1));
    visit(text.substr(begin, at - begin), number, at, end);
  }
}

std::string numbered(const std::string& text, const NumbersOfDims& numbers) {
  std::string result;
  size_t copied = 0;
  for_each_index(text, [&](const std::string& dim, size_t number, size_t begin, size_t end) {
    const std::set<size_t>& own = numbers.at(dim);
    const auto rank = std::distance(own.begin(), own.find(number)) + 1;
    result += text.substr(copied, begin - copied) + "'" + (rank == 1 ? "" : std::to_string(rank));
    copied = end;
  });
  return result + text.substr(copied);
}

}  // namespace

void number_indices(std::vector<Diagnostic>& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics) {
    NumbersOfDims numbers;
    const std::vector<std::string*> texts = texts_of(diagnostic);
    for (const std::string* text : texts)
      for_each_index(*text, [&](const std::string& dim, size_t number, size_t, size_t) {
        numbers[dim].insert(number);
      });
    for (std::string* text : texts) *text = numbered(*text, numbers);
  }
}

}  // namespace shardproof
