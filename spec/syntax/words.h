#pragma once
// The words that the notation keeps for itself.
#include <optional>
#include <string>
#include <string_view>

namespace shardproof::syntax {

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
