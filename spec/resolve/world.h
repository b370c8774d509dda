#pragma once
// Everything that resolution knows of the files it has read: their names, and the program it makes.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "spec/ir/program.h"
#include "spec/resolve/tree.h"
#include "spec/syntax/ast.h"

namespace shardproof::resolution {

struct Constant {
  const syntax::ConstDecl* decl;
  double value;
  std::string text;  ///< the literal, or the value printed
};

/// What the text of one file can name.
struct FileScope {
  std::string path;
  std::shared_ptr<const syntax::File> ast;
  bool library = false;
  std::map<Name, SourceRange> dims, axes;
  std::map<Name, Constant> consts;
  std::map<Name, size_t> records;    ///< records and layouts; into World::records
  std::map<Name, size_t> functions;  ///< into World::functions
  std::map<Name, const syntax::ScheduleDecl*> schedules;
  std::map<Name, const syntax::ConfigDecl*> configs;
  std::map<Name, SourceRange> declared;  ///< where each name of the last five maps was brought in
  std::vector<std::pair<const syntax::ImportDecl*, size_t>> imports;  ///< into World::files
  std::set<size_t> reaches;                                           ///< imports, closed
};

struct RecordEntity {
  Name name;
  size_t file;
  const std::vector<syntax::Group>* groups;
  SourceRange range;
  const syntax::LayoutDecl* layout = nullptr;  ///< null: a record
  enum class State { fresh, busy, done, bad } state = State::fresh;
  Types type = {};
};

struct Parameter {
  Name name;
  const syntax::TypeExpr* written;
  const syntax::Expr* value;  ///< the default, or null
  Types type;                 ///< of a function that is not generic
};

struct FunctionEntity {
  const syntax::FunctionDecl* decl;
  size_t file;
  bool generic = false;  ///< of the library, or with `...`, `*`, `float` or a string in its
                         ///< signature: resolved at each call
  std::optional<size_t> index = std::nullopt;  ///< into Program::functions, unless generic
  std::vector<Parameter> params = {};          ///< then those after `;`
  size_t saved = 0;                            ///< how many are after `;`
  std::vector<const syntax::TypeExpr*> written_results = {};
  std::vector<Types> results = {};
  std::vector<Name> result_names = {};
  bool unreadable = false;  ///< its signature has an error
  bool bad = false;         ///< it has an error anywhere
};

class World {
 public:
  World(Sources& sources, std::vector<Diagnostic>& diagnostics)
      : sources(sources), diagnostics(diagnostics) {}

  Sources& sources;
  std::vector<Diagnostic>& diagnostics;
  std::deque<FileScope> files;  ///< files[0] is the library; imported before importing
  std::vector<RecordEntity> records;
  std::vector<FunctionEntity> functions;
  size_t open_records = 0;    ///< records being read, each a field of the one before it
  size_t values_written = 0;  ///< of all functions read so far, with their calls written out
  ir::Program program;
  std::map<Name, std::vector<size_t>> dim_files, axis_files;  ///< who declares them
  std::map<Name, std::pair<size_t, size_t>> dim_weights;      ///< factors written out, and depth
  std::map<std::string, Name> local_dims;                     ///< function, name and size: the dim

  Diagnostic& error(const char* code, SourceRange range, std::string message,
                    std::string label = "");
  /// E0101, with the closest of `known` as a fix; `range` may be longer than the name.
  void unknown(const std::string& what, const Name& name, SourceRange range,
               const std::vector<Name>& known);
  /// E0102, pointing at the first.
  void twice(const Name& name, SourceRange range, SourceRange first, const std::string& message);
  /// How many there are, also those that are not shown.
  size_t errors() const;
  /// Where `name` stands in the text of `range`.
  SourceRange locate(const Name& name, SourceRange range) const;
  /// A dim of a body: one name for the same function, name and size; never one of a file's dims.
  Dim local_dim(const Name& function, const Name& name, ir::DimInfo info);

 private:
  size_t untold_ = 0;       ///< errors beyond the most that are shown
  Diagnostic last_untold_;  ///< what the last of them would have been
};

template <class Value>
std::vector<Name> keys(const std::map<Name, Value>& map) {
  std::vector<Name> names;
  for (const auto& [name, unused] : map) names.push_back(name);
  return names;
}

bool is_number(const Name& name);  ///< a literal dim: "2"
std::optional<Dtype> dtype_of(const std::string& word);

}  // namespace shardproof::resolution
