#pragma once
// The words that the notation keeps for itself.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardproof::syntax {

/// A word or symbol as one number: its length and its first seven characters.
constexpr uint64_t key_of(std::string_view text) {
  uint64_t key = std::min<size_t>(text.size(), 255);
  for (size_t i = 0; i < text.size() && i < 7; ++i)
    key |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i + 8);
  return key;
}

/// A word or symbol that the notation has: what a token is compared with.
struct Spelling {
  explicit constexpr Spelling(std::string_view text) : text(text), key(key_of(text)) {}
  template <size_t n>
  consteval Spelling(const char (&text)[n]) : Spelling(std::string_view(text, n - 1)) {}

  /// Whether `other`, which has the key, is this one.
  constexpr bool is(std::string_view other, uint64_t other_key) const {
    return key == other_key && (text.size() <= 7 || text == other);
  }

  std::string_view text;
  uint64_t key;
};

/// The words of each kind are in words.cpp.
enum class Keyword : uint8_t { none, dtype, declaration, statement, loop, other };
Keyword keyword_of(const Spelling& word);

bool is_dtype(std::string_view word);     ///< f64 ... key, and float
bool is_reserved(std::string_view word);  ///< cannot be a name; `by` can, save after `over NAME`

/// Begins a declaration wherever it stands; `dim` and `require` may also begin a statement.
bool begins_declaration(std::string_view word);
bool begins_statement(std::string_view word);  ///< return next emit dim require assume
bool begins_loop(std::string_view word);       ///< scan ring pipeline stages

/// The word that this one may be meant for: `nex` is `next`.
std::optional<std::string> nearest_declaration(std::string_view word);
std::optional<std::string> nearest_statement(std::string_view word);

/// `U_t`, `I_t`, `Max_t`: why the name of a value cannot begin so.
bool is_mark(std::string_view word);

}  // namespace shardproof::syntax
