#include "spec/resolve/unused.h"

#include <algorithm>
#include <cctype>

namespace shardproof::resolution {
namespace {

using syntax::Expr;

struct Declared {
  SourceRange range;
  const char* what;
  bool used = false;
};

using Names = std::map<Name, Declared, std::less<>>;

/// The names of a block, a loop or a function; fns are of the file.
struct Scope {
  Names dims, values, fns;
};

/// Values and dims by scope: two loops may each have a `y`, and each of them must be used.
class UnusedFinder {
 public:
  explicit UnusedFinder(const World& world)
      : world_(world), index_(world.files.size() - 1), file_(world.files.back()) {}

  std::vector<Diagnostic> run() {
    scopes_.resize(1);
    bool claims = false, runs = false;
    for (const syntax::Declaration& declaration : file_.ast->declarations) {
      if (auto* dim = std::get_if<syntax::DimDecl>(&declaration)) declare(*dim);
      runs = runs || std::holds_alternative<syntax::ConfigDecl>(declaration);
      if (auto* function = std::get_if<syntax::FunctionDecl>(&declaration)) {
        claims = claims || function->is_plan || function->implements;
      }
    }
    if (!runs) declare_fns();
    for (const syntax::Declaration& declaration : file_.ast->declarations)
      std::visit([&](const auto& node) { visit(node); }, declaration);
    if (claims) close();
    std::sort(found_.begin(), found_.end(), [](const Diagnostic& a, const Diagnostic& b) {
      return a.range.begin < b.range.begin;
    });
    return std::move(found_);
  }

 private:
  // --- names ---
  void add(Names& names, const Name& name, Declared declared) {
    if (name[0] != '_') names.emplace(name, declared);
  }
  void use(Names Scope::*names, std::string_view name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto found = (*scope.*names).find(name); found != (*scope.*names).end())
        return (void)(found->second.used = true);
  }
  void use_dim(std::string_view name) { use(&Scope::dims, name); }
  void close() {
    const Scope& scope = scopes_.back();
    for (const Names* names : {&scope.dims, &scope.fns, &scope.values})
      for (const auto& [name, declared] : *names)
        if (!declared.used) tell(name, declared);
    scopes_.pop_back();
  }

  void tell(const Name& name, const Declared& declared) {
    Diagnostic note;
    note.code = "L0003";
    note.severity = Severity::note;
    note.range = declared.range;
    note.message = "the " + std::string(declared.what) + " `" + name + "` is never used";
    note.label = "nothing in this file uses it";
    Fix fix;
    fix.message = "if this is intended, rename it to `_" + name + "`";
    fix.edits.push_back({declared.range, "_" + name});
    note.fixes.push_back(std::move(fix));
    found_.push_back(std::move(note));
  }

  // --- declarations ---
  void visit(const syntax::ImportDecl&) {}
  void visit(const syntax::MeshDecl&) {}
  void visit(const syntax::ScheduleDecl&) {}  // uses neither dims nor values
  void visit(const syntax::ConstDecl& node) { expr(node.value); }
  void visit(const syntax::Require& node) { expr(node.condition); }
  void visit(const syntax::RecordDecl& node) { groups(node.fields); }
  void visit(const syntax::LayoutDecl& node) { groups(node.fields); }
  void visit(const syntax::ConfigDecl& node) {
    for (const auto& entry : node.entries) use_dim(entry.name);
  }
  void visit(const syntax::DimDecl& node) {
    for (const Name& name : node.of) use_dim(name);
    if (node.size) expr(*node.size);
  }
  void visit(const syntax::FunctionDecl& node) {
    if (node.instance && node.instance->number > 0) return;
    if (node.implements) use(&Scope::fns, node.implements->model);
    scopes_.emplace_back();
    if (node.pattern) shadow(*node.pattern);
    for (const auto* list : {&node.params, &node.saved})
      for (const syntax::Param& param : *list) {
        for (const Name& name : param.group.names) scopes_.back().values[name] = hidden;
        type(param.group.type);
        if (param.value) expr(*param.value);
      }
    groups(node.results.groups);
    block(node.body);
    scopes_.pop_back();
  }

  void declare_fns() {
    for (const syntax::Declaration& declaration : file_.ast->declarations)
      if (auto* function = std::get_if<syntax::FunctionDecl>(&declaration))
        if (!function->is_plan && !function->implements)
          add(scopes_.back().fns, function->name, {function->name_range, "fn"});
  }

  /// A dim of this file may give a size to a dim of an imported file, so it counts as used.
  void declare(const syntax::DimDecl& node) {
    SourceRange rest = node.range;
    for (const Name& name : node.names) {
      const SourceRange range = world_.locate_next(name, rest);
      Declared declared{range, "dim"};
      const auto files = world_.dim_files.find(name);
      if (scopes_.size() == 1 && files != world_.dim_files.end())
        declared.used = std::any_of(files->second.begin(), files->second.end(),
                                    [&](size_t file) { return file != index_; });
      add(scopes_.back().dims, name, declared);
    }
  }

  /// Dims that a function's pattern binds hide the file's dims of the same name.
  void shadow(const std::string& pattern) {
    for_each_word(pattern,
                  [&](std::string_view name) { scopes_.back().dims[Name(name)] = hidden; });
  }

  // --- types and expressions ---
  void groups(const std::vector<syntax::Group>& list) {
    for (const syntax::Group& each : list) type(each.type);
  }
  void type(const syntax::TypeExpr& node) {
    for (const syntax::SplitExpr& split : node.dims)
      for (const Name& name : split.names) use_dim(name);
  }
  void exprs(const std::vector<Expr>& list) {
    for (const Expr& each : list) expr(each);
  }
  void expr(const Expr& node) {
    using Kind = Expr::Kind;
    if (node.kind == Kind::name) use(&Scope::values, node.text);
    if (node.kind == Kind::size) use_dim(node.text);
    if (node.kind == Kind::call || node.kind == Kind::grad || node.kind == Kind::value_and_grad)
      use(&Scope::fns, node.text);
    if (node.kind == Kind::string)
      for_each_word(node.text, [&](std::string_view name) { use_dim(name); });
    if (node.kind == Kind::entry)
      for (const Name& name : node.names) use(&Scope::values, name);
    for (const syntax::TypeExpr& each : node.type) type(each);
    exprs(node.args);
  }

  template <class Visit>
  static void for_each_word(const std::string& text, Visit visit) {
    const auto letter = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    for (auto at = text.begin(); at != text.end();) {
      const auto begin = std::find_if(at, text.end(), letter);
      at = std::find_if_not(begin, text.end(), letter);
      if (begin != at) visit(std::string_view(begin, at));
    }
  }

  // --- statements ---
  void block(const syntax::Block& body) {
    scopes_.emplace_back();
    for (const syntax::Statement& statement : body)
      std::visit([&](const auto& node) { run(node); }, statement.node);
    close();
  }
  void run(const syntax::DimDecl& node) {
    visit(node);
    declare(node);
  }
  void run(const syntax::Require& node) { visit(node); }
  void run(const syntax::Assume& node) { exprs(node.terms); }
  void run(const syntax::Return& node) { exprs(node.values); }
  void run(const syntax::Next& node) { exprs(node.values); }
  void run(const syntax::Emit& node) { exprs(node.values); }
  void run(const syntax::Bind& node) {
    exprs(node.value);
    for (const syntax::Loop& each : node.loop) loop(each);
    const bool kept = !node.value.empty() && node.value[0].kind == Expr::Kind::call &&
                      node.value[0].text == "save";
    for (const syntax::Target& target : node.targets) {
      if (target.type) type(*target.type);
      add(scopes_.back().values, target.name,
          {world_.locate(target.name, target.range), "value", kept});
    }
  }
  void loop(const syntax::Loop& node) {
    for (const Name& name : node.dims) use_dim(name);
    use_dim(node.block_dim);
    exprs(node.schedule_args);
    scopes_.emplace_back();  // a loop may reuse the names of an earlier loop
    for (const syntax::Carry& carry : node.carries) {
      type(carry.type);
      expr(carry.init);
    }
    for (const Name& name : node.variables) scopes_.back().values[name] = hidden;
    for (const syntax::Carry& carry : node.carries) scopes_.back().values[carry.name] = hidden;
    block(node.body);
    scopes_.pop_back();
  }

  static constexpr Declared hidden{{}, "", true};  ///< it hides an outer one, and need not be used

  const World& world_;
  size_t index_;
  const FileScope& file_;
  std::vector<Scope> scopes_;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> unused(const World& world) {
  return world.errors() > 0 ? std::vector<Diagnostic>() : UnusedFinder(world).run();
}

}  // namespace shardproof::resolution
