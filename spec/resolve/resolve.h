#pragma once
// Imports, names, dims and sizes, library calls instantiated, records flattened. No rule, no state:
// axes and marks are carried as written.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spec/ir/program.h"
#include "spec/syntax/ast.h"

namespace shardproof {

/// Reads the file at `path` (an import's path is relative to the importing file); nullopt: cannot
/// be read.
using FileReader = std::function<std::optional<std::string>(const std::string& path)>;
FileReader disk_reader();

/// Parses and resolves `path` with all it imports. Diagnostics are appended; a function that has an
/// error is in the program as far as it could be read, and its name is in `broken`.
struct Resolved {
  ir::Program program;
  std::vector<size_t> plans;  ///< plans, and fns that are gradients, of the file itself, in its
                              ///< order, then imported ones
  std::vector<size_t>
      named;  ///< functions that the file itself can name: its own, and imported ones
  std::vector<bool> broken;  ///< per function of the program: it has an error of its own
  bool readable = false;     ///< the file itself could be read and parsed
  std::map<Name, syntax::ScheduleDecl> schedules = {};  ///< the library's, and the files'
  std::vector<Diagnostic> notes = {};                   ///< L0003: they change no verdict
};
Resolved resolve(Sources& sources, const std::string& path, const FileReader& reader,
                 std::vector<Diagnostic>& diagnostics);

/// The same for a file that is a tree already, parsed or built in C++; `path` is where its imports
/// are looked for.
Resolved resolve(Sources& sources, syntax::File file, const std::string& path,
                 const FileReader& reader, std::vector<Diagnostic>& diagnostics);

}  // namespace shardproof
