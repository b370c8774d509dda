#pragma once
// Helpers that the tests of this folder share: files of the project, and parsing with every pattern
// read as well.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "spec/syntax/parser.h"

namespace shardproof::syntax {

/// The .shard files below `folder` of the project, in order; none if there is no such folder.
inline std::vector<std::filesystem::path> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> result;
  const std::filesystem::path root = std::filesystem::path(SHARDPROOF_SOURCE_DIR) / folder;
  if (!std::filesystem::exists(root)) return result;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (entry.path().extension() == ".shard") result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

inline std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Reads the patterns of a file, as later passes will: the first argument of a call, and a
/// function's own.
class PatternReader {
 public:
  explicit PatternReader(std::vector<Diagnostic>& diagnostics) : diagnostics_(diagnostics) {}

  void read(const File& file) {
    for (const Declaration& declaration : file.declarations) {
      const auto* function = std::get_if<FunctionDecl>(&declaration);
      if (function == nullptr) continue;
      if (function->pattern)
        parse_pattern(*function->pattern, function->pattern_range, diagnostics_);
      read(function->body);
    }
  }

 private:
  void read(const Block& block) {
    for (const Statement& statement : block) {
      if (const auto* bind = std::get_if<Bind>(&statement.node)) read(*bind);
      if (const auto* node = std::get_if<Return>(&statement.node)) read(node->values);
      if (const auto* node = std::get_if<Next>(&statement.node)) read(node->values);
      if (const auto* node = std::get_if<Emit>(&statement.node)) read(node->values);
    }
  }
  void read(const Bind& bind) {
    read(bind.value);
    for (const Loop& loop : bind.loop) {
      for (const Carry& carry : loop.carries) read(carry.init);
      read(loop.body);
    }
  }
  void read(const std::vector<Expr>& exprs) {
    for (const Expr& expr : exprs) read(expr);
  }
  void read(const Expr& expr) {
    const bool has_pattern = expr.kind == Expr::Kind::call && !expr.args.empty() &&
                             expr.args[0].kind == Expr::Kind::string;
    if (has_pattern) {
      const SourceRange quoted = expr.args[0].range;
      parse_pattern(expr.args[0].text, {quoted.file, quoted.begin + 1, quoted.end - 1},
                    diagnostics_);
    }
    read(expr.args);
  }

  std::vector<Diagnostic>& diagnostics_;
};

}  // namespace shardproof::syntax
