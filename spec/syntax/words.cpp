#include "spec/syntax/words.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "spec/syntax/closest.h"

namespace shardproof::syntax {
namespace {

using Words = std::string_view;

/// The parser asks about each name several times: most have another first letter or length.
template <const auto& words>
bool contains(std::string_view word) {
  const auto bit = [](Words each) {
    return uint64_t{1} << ((static_cast<unsigned char>(each[0]) + 11 * each.size()) % 64);
  };
  constexpr uint64_t known =
      std::accumulate(words.begin(), words.end(), uint64_t{0},
                      [&](uint64_t all, Words each) { return all | bit(each); });
  return !word.empty() && (known & bit(word)) &&
         std::find(words.begin(), words.end(), word) != words.end();
}

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

template <size_t n>
std::optional<std::string> nearest(const std::array<Words, n>& words, std::string_view word,
                                   std::vector<std::string> more = {}) {
  more.insert(more.end(), words.begin(), words.end());
  return closest(std::string(word), more);
}

}  // namespace

bool is_dtype(std::string_view word) { return contains<dtypes>(word); }
bool begins_declaration(std::string_view word) { return contains<declarations>(word); }
bool begins_statement(std::string_view word) { return contains<statements>(word); }
bool begins_loop(std::string_view word) { return contains<loops>(word); }

bool is_reserved(std::string_view word) {
  if (word.size() < 2) return false;
  return is_dtype(word) || begins_declaration(word) || begins_statement(word) ||
         begins_loop(word) || contains<others>(word);
}

std::optional<std::string> nearest_declaration(std::string_view word) {
  return nearest(declarations, word, {"dim", "require"});
}
std::optional<std::string> nearest_statement(std::string_view word) {
  return nearest(statements, word);
}

bool is_mark(std::string_view word) {
  return word.substr(0, 2) == "U_" || word.substr(0, 2) == "I_" || word.substr(0, 4) == "Max_";
}

}  // namespace shardproof::syntax
