#pragma once
// Text to tree. Several errors a file: after an error the parser goes on at the next declaration or
// statement.
#include <vector>

#include "spec/syntax/ast.h"

namespace shardproof::syntax {

/// Parses file `source` of `sources`; errors are appended to `diagnostics` (E00xx), and what could
/// be read is returned. Never throws, never recurses deeper than a fixed bound (E0007).
File parse(const Sources& sources, int32_t source, std::vector<Diagnostic>& diagnostics);

/// Parses the text of a string as a pattern; `range` is the string without its quotes.
std::optional<PatternExpr> parse_pattern(const std::string& text, SourceRange range,
                                         std::vector<Diagnostic>& diagnostics);

/// The text of a tree in the one canonical form: parse(print(f)) == f up to ranges. A declaration
/// and a statement end with a line break; `indent` counts spaces.
std::string print(const File& file);
std::string print(const Declaration& declaration);
std::string print(const TypeExpr& type);
std::string print(const Expr& expr);
std::string print(const Statement& statement, int indent);

/// Equality up to source ranges.
bool same(const File& a, const File& b);

}  // namespace shardproof::syntax
