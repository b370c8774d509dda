#include "spec/syntax/words.h"

#include <algorithm>
#include <array>

#include "spec/syntax/closest.h"

namespace shardproof::syntax {
namespace {

using Words = std::string_view;

constexpr std::array<Words, 10> dtypes = {"f64", "f32", "bf16", "f16",   "f8",
                                          "i32", "u32", "bool", "float", "key"};
constexpr std::array<Words, 10> declarations = {"import", "mesh", "const", "config",  "record",
                                                "layout", "fn",   "plan",  "trusted", "schedule"};
constexpr std::array<Words, 6> statements = {"return", "next", "emit", "dim", "require", "assume"};
constexpr std::array<Words, 4> loops = {"scan", "ring", "pipeline", "stages"};
constexpr std::array<Words, 22> others = {
    "from",  "of",      "implements", "after", "wrt",  "grad", "value_and_grad", "in",
    "as",    "reverse", "over",       "or",    "and",  "not",  "true",           "for",
    "false", "let",     "zeros",      "each",  "with", "pads"};

struct Reserved {
  Spelling word{""};
  Keyword keyword = Keyword::none;
};
constexpr auto by_key = [](const Reserved& a, const Reserved& b) {
  return a.word.key < b.word.key;
};

/// All of them, sorted.
constexpr auto reserved = [] {
  std::array<Reserved, 52> all;
  auto* next = all.begin();
  const auto add = [&](const auto& words, Keyword keyword) {
    for (Words word : words) *next++ = {Spelling(word), keyword};
  };
  add(dtypes, Keyword::dtype);
  add(declarations, Keyword::declaration);
  add(statements, Keyword::statement);
  add(loops, Keyword::loop);
  add(others, Keyword::other);
  std::sort(all.begin(), all.end(), by_key);
  return all;
}();

template <size_t n>
std::optional<std::string> nearest(const std::array<Words, n>& words, std::string_view word,
                                   std::vector<std::string> more = {}) {
  more.insert(more.end(), words.begin(), words.end());
  return closest(std::string(word), more);
}

}  // namespace

Keyword keyword_of(const Spelling& word) {
  if (word.text.size() < 2) return Keyword::none;
  const auto* found =
      std::lower_bound(reserved.begin(), reserved.end(), Reserved{word, Keyword::none}, by_key);
  const bool is = found != reserved.end() && found->word.is(word.text, word.key);
  return is ? found->keyword : Keyword::none;
}

bool is_dtype(std::string_view word) { return keyword_of(Spelling(word)) == Keyword::dtype; }
bool begins_declaration(std::string_view word) {
  return keyword_of(Spelling(word)) == Keyword::declaration;
}
bool begins_statement(std::string_view word) {
  return keyword_of(Spelling(word)) == Keyword::statement;
}
bool begins_loop(std::string_view word) { return keyword_of(Spelling(word)) == Keyword::loop; }
bool is_reserved(std::string_view word) { return keyword_of(Spelling(word)) != Keyword::none; }

std::optional<std::string> nearest_declaration(std::string_view word) {
  return nearest(declarations, word, {"dim", "require"});
}
std::optional<std::string> nearest_statement(std::string_view word) {
  return nearest(statements, word);
}

bool is_mark(std::string_view word) {
  const size_t letters = word.find('_');
  const std::string_view mark = word.substr(0, letters);
  return letters != word.npos && (mark == "U" || mark == "I" || mark == "Max");
}

}  // namespace shardproof::syntax
