#pragma once
// The state of resolution: the names in all files, and the program being built.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "spec/ir/program.h"
#include "spec/resolve/tree.h"
#include "spec/schedule/schedule.h"
#include "spec/syntax/ast.h"

namespace shardproof::resolution {

struct Constant {
  const syntax::ConstDecl* decl;
  double value;           ///< rounded once
  std::string text;       ///< the exact value as a literal, or its numerator
  std::string over = {};  ///< its denominator, if it has no finite decimal
};

/// A list whose entries stay where they are. A copy has the same entries: those of the library are
/// read once, and then are in every program's lists; nothing changes them.
template <class T>
class Entries {
 public:
  void push_back(T entry) { all_.push_back(std::make_shared<T>(std::move(entry))); }
  T& operator[](size_t i) { return *all_[i]; }
  const T& operator[](size_t i) const { return *all_[i]; }
  const T& at(size_t i) const { return *all_.at(i); }
  T& back() { return *all_.back(); }
  const T& back() const { return *all_.back(); }
  size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }
  auto begin() { return Each<T>{all_.data()}; }
  auto end() { return Each<T>{all_.data() + all_.size()}; }
  auto begin() const { return Each<const T>{all_.data()}; }
  auto end() const { return Each<const T>{all_.data() + all_.size()}; }

 private:
  template <class Entry>
  struct Each {
    const std::shared_ptr<T>* at;
    Entry& operator*() const { return **at; }
    Each& operator++() { return ++at, *this; }
    bool operator==(const Each&) const = default;
  };
  std::vector<std::shared_ptr<T>> all_;
};

/// The names that one file can use.
struct FileScope {
  std::string path;
  std::shared_ptr<const syntax::File> ast;
  bool library = false;
  std::map<Name, SourceRange, ByName> dims, axes;
  std::map<Name, Constant, ByName> consts;
  std::map<Name, size_t, ByName> records;    ///< records and layouts; into World::records
  std::map<Name, size_t, ByName> functions;  ///< into World::functions
  std::map<Name, const syntax::ScheduleDecl*, ByName> schedules;
  std::map<Name, const syntax::ConfigDecl*, ByName> configs;
  std::map<Name, SourceRange, ByName>
      declared;  ///< where each name of the last five maps was brought in
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

/// "1 name", "2 names".
std::string counted(size_t count, const std::string& what);

/// "`a`, `b`": at most the first `most` of them.
std::string listed(const std::vector<Name>& names, size_t most = ~size_t{0});

struct Parameter {
  Name name;
  const syntax::TypeExpr* written;
  const syntax::Expr* value;  ///< the default; null if it has none
  Types type;                 ///< set unless the function is generic
};

struct FunctionEntity {
  const syntax::FunctionDecl* decl;
  size_t file;
  bool generic = false;  ///< of the library, or with `...`, `*`, `float` or a string in its
                         ///< signature: resolved at each call
  std::optional<size_t> index = std::nullopt;  ///< into Program::functions, unless generic
  std::vector<Parameter> params = {};          ///< including those after `;`
  size_t saved = 0;                            ///< number of them after `;`
  std::vector<const syntax::TypeExpr*> written_results = {};
  std::vector<Types> results = {};
  std::vector<Name> result_names = {};
  /// Into Program::functions, if it implements a model with pads: see pads.h.
  std::optional<size_t> padded_model = std::nullopt, padded_claim = std::nullopt;
  bool padded_results = false;
  bool unreadable = false;  ///< its signature has an error
  bool bad = false;         ///< it has an error anywhere
};

class World {
 public:
  World(Sources& sources, std::vector<Diagnostic>& diagnostics, const std::map<Name, double>& set)
      : sources(sources), diagnostics(diagnostics), set(set) {}

  Sources& sources;
  std::vector<Diagnostic>& diagnostics;
  const std::map<Name, double>& set;  ///< consts that do not have the file's values
  Entries<FileScope> files;           ///< files[0] is the library; imported before importing
  std::vector<RecordEntity> records;
  Entries<FunctionEntity> functions;
  size_t open_records = 0;          ///< records being read, nested
  size_t values_written = 0;        ///< in all functions so far, with inlined calls
  schedule::Budget schedule_steps;  ///< left for running the schedules of all files
  ir::Program program;
  std::map<Name, std::vector<size_t>, ByName> dim_files,
      axis_files;  ///< files that declare the name
  std::map<Name, std::pair<size_t, size_t>, ByName>
      dim_weights;                                         ///< factors written out, and depth
  std::set<const syntax::ScheduleDecl*> right_when_small;  ///< schedule::check_all found nothing
  std::map<std::string, Name> local_dims;                  ///< key: function, name and size

  Diagnostic& error(const char* code, SourceRange range, std::string message,
                    std::string label = "");
  /// E0101; suggests the closest name in `known`. `range` may be longer than the name.
  void unknown(const std::string& what, const Name& name, SourceRange range,
               const std::vector<Name>& known);
  /// E0102; points at the first declaration.
  void twice(const Name& name, SourceRange range, SourceRange first, const std::string& message);
  /// The number of errors, including those that are not shown.
  size_t errors() const;
  /// The position of `name` in the text of `range`.
  SourceRange locate(const Name& name, SourceRange range) const;
  /// The same for names that follow each other: `rest` then begins after this one.
  SourceRange locate_next(const Name& name, SourceRange& rest) const;
  /// A dim in a body: the same function, name and size give the same dim; never a dim of a file.
  Dim local_dim(const Name& function, const Name& name, ir::DimInfo info);

 private:
  /// Adds the edit to the last error's fix, if both separate the dims of one pattern.
  bool added_to_last(const Fix& fix);

  /// Adds the name to the last declaration of that kind in the file.
  std::vector<Edit> declared(const std::string& what, const Name& name, SourceRange use) const;

  size_t untold_ = 0;       ///< errors beyond the limit
  Diagnostic last_untold_;  ///< a dummy for the callers of error()
};

template <class T, class Order>
std::vector<Name> keys(const std::map<Name, T, Order>& map) {
  std::vector<Name> names;
  for (const auto& [name, unused] : map) names.push_back(name);
  return names;
}

/// The plans that a plan with `{?_t}` stands for, by index of one of them: R on each such axis
/// first, I on each last. Of another function, itself.
std::vector<size_t> instances(const World& world, size_t entity);

bool is_number(const Name& name);  ///< a literal dim: "2"
std::optional<Dtype> dtype_of(const std::string& word);

}  // namespace shardproof::resolution
