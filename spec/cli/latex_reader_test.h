#pragma once
// Reads equations of --latex back as a program, with a grammar of its own.
#include <set>
#include <string>

namespace shardproof::cli {

struct ReadBack {
  std::string text;              ///< in the notation
  std::set<std::string> shapes;  ///< of named values: `h[B/d F/t]{U_t}`
};

/// Throws std::runtime_error where the equations cannot be read, or where the indices below a sum
/// are not those that its factors have and its result lacks.
ReadBack read_latex(const std::string& equations);

}  // namespace shardproof::cli
