#pragma once
// Resolves imports, names, dims and sizes; inlines library calls; flattens records. It applies no
// typing rules: axes and marks are passed on as written.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spec/ir/program.h"
#include "spec/syntax/ast.h"

namespace shardproof {

/// Returns the text of the file at `path` (an import's path is relative to the importing file), or
/// nullopt if it cannot be read.
using FileReader = std::function<std::optional<std::string>(const std::string& path)>;
FileReader disk_reader();

/// Parses and resolves `path` with all imports. Appends diagnostics. A function with an error is in
/// the program as far as it could be read, and is marked in `broken`. `set` gives consts other
/// values than the file does; names that are not consts are ignored.
struct Resolved {
  ir::Program program;
  std::vector<size_t> plans;  ///< plans, and fns that are gradients, of the file itself, in its
                              ///< order, then imported ones
  std::vector<size_t> named;  ///< functions that the file can name: its own and imported ones
  std::vector<bool> broken;   ///< by function of the program: it has an error itself
  bool readable = false;      ///< the file could be read and parsed
  syntax::Schedules schedules = {};    ///< of the library and the files
  std::vector<Diagnostic> notes = {};  ///< L0003: no effect on a verdict
};
Resolved resolve(Sources& sources, const std::string& path, const FileReader& reader,
                 std::vector<Diagnostic>& diagnostics, const std::map<Name, double>& set = {});

/// The same for a parsed file, or one built in C++. `path` locates its
/// imports.
Resolved resolve(Sources& sources, syntax::File file, const std::string& path,
                 const FileReader& reader, std::vector<Diagnostic>& diagnostics,
                 const std::map<Name, double>& set = {});

}  // namespace shardproof
