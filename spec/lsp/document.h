#pragma once
// One version of an open file, read and typed, and what is reported of it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/check/check.h"
#include "spec/lsp/occurrences.h"
#include "spec/lsp/position.h"

namespace shardproof::lsp {

/// A text with its tree, its names, and all that the checker says of it.
struct Analysis {
  std::shared_ptr<Sources> sources = std::make_shared<Sources>();
  std::optional<CheckedProgram> checked;  ///< none after an error of the checker itself
  std::string failure;                    ///< what that error was
  int32_t file = -1;                      ///< of the text, in `sources`
  /// Where a declaration cannot be read: the types of the text with spaces in its place, so that
  /// the other declarations keep theirs while one types. No verdict comes from it.
  std::optional<CheckedProgram> rest;
  int32_t typed_file = -1;  ///< the text that `types()` are of, in `sources`

  const SourceFile& text() const { return sources->file(file); }
  const CheckedProgram* types() const { return rest ? &*rest : checked ? &*checked : nullptr; }
  const ir::Program* program() const { return types() ? &types()->program() : nullptr; }

  /// Made when they are first asked for: diagnostics do not wait for them.
  const syntax::File& tree() const;
  const std::vector<Occurrence>& names() const;

 private:
  mutable std::optional<syntax::File> tree_;
  mutable std::optional<std::vector<Occurrence>> names_;
};

/// Types alone: no model is compared and nothing is run, so that an editor need not wait.
Analysis typed(const std::string& path, const FileReader& reader);
/// The whole check, with fixes and the prover.
Analysis proved(const std::string& path, const FileReader& reader);

/// The function that a declaration of the tree is; null where it could not be resolved.
const ir::Function* function_of(const Analysis& analysis, int declaration);
size_t index_of(const Analysis& analysis, const ir::Function& function);

/// False: an error hides the axes of its values, but for those that are stated.
bool has_final_types(const Analysis& analysis, const ir::Function& function);

/// A value that a name stands for: one tensor, or the leaves of a record.
struct Leaf {
  Name name;
  Type type;
};
std::vector<Leaf> leaves_of(const Analysis& analysis, const Occurrence& name);

/// Sizes that the file gives, with those of its first config; `config` is its name.
std::map<Name, int64_t> sizes_of(const ir::Program& program, Name* config = nullptr);

/// file:// of a path, and back; a library file is shown from a folder of this server.
std::string uri_of(const std::string& path);
std::string path_of(const std::string& uri);
/// {uri, range} of a range in any file that was read.
Json location(const Analysis& analysis, const SourceRange& range);
/// The library's files in a folder, for editors to open: made when a name of it is first asked for,
/// and removed when the server ends, or when the next one makes its own if it was killed.
class LibraryFolder {
 public:
  LibraryFolder() = default;
  ~LibraryFolder();
  LibraryFolder(const LibraryFolder&) = delete;
  static const std::string& path();  ///< empty: it cannot be made
};

/// The parts of an analysis that a client shows: {diagnostics, fixes, lenses}. `complete`: the
/// prover ran.
Json findings(const Analysis& analysis, bool complete);

}  // namespace shardproof::lsp
