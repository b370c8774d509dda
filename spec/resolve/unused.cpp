#include "spec/resolve/unused.h"

#include <algorithm>
#include <unordered_map>

namespace shardproof::resolution {
namespace {

using syntax::Expr;

struct Declared {
  std::string_view name;
  SourceRange range;  ///< has the name
  const char* what = nullptr;
  bool used = false;
};

/// The names of one kind in the scopes that are open: an inner one hides an outer one.
class Names {
 public:
  void add(const Declared& declared) {
    size_t& newest = newest_.try_emplace(declared.name, none).first->second;
    all_.push_back({declared, &newest, std::exchange(newest, all_.size())});
    unused_ += !declared.used;
  }
  void use(std::string_view name) {
    const auto newest = newest_.find(name);
    if (newest == newest_.end() || newest->second == none) return;
    bool& used = all_[newest->second].declared.used;
    unused_ -= !std::exchange(used, true);
  }
  bool any_unused() const { return unused_ > 0; }
  size_t size() const { return all_.size(); }
  /// Ends the scope that began with that many names; calls `visit` for what was not used.
  template <class Visit>
  void close(size_t begin, const Visit& visit) {
    for (; all_.size() > begin; all_.pop_back()) {
      const Entry& last = all_.back();
      *last.newest = last.hidden;
      if (last.declared.used) continue;
      --unused_;
      visit(last.declared);
    }
  }

 private:
  static constexpr size_t none = ~size_t{0};
  struct Entry {
    Declared declared;
    size_t* newest;  ///< of this name
    size_t hidden;   ///< the entry of this name in an outer scope
  };
  std::vector<Entry> all_;
  std::unordered_map<std::string_view, size_t> newest_;  ///< into all_
  size_t unused_ = 0;
};

/// How many names there are when a block, a loop or a function begins.
struct Scope {
  size_t dims, values, fns;
};

/// Values and dims by scope: two loops may each have a `y`, and each of them must be used.
class UnusedFinder {
 public:
  explicit UnusedFinder(const World& world)
      : world_(world), index_(world.files.size() - 1), file_(world.files.back()) {}

  std::vector<Diagnostic> run() {
    open();
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
  static void add(Names& names, const Declared& declared) {
    if (!declared.name.starts_with('_')) names.add(declared);
  }
  static void hide(Names& names, std::string_view name) { names.add({name, {}, "", true}); }
  void open() { scopes_.push_back({dims_.size(), values_.size(), fns_.size()}); }
  void close() {
    const auto unused = [&](const Declared& declared) { tell(declared); };
    dims_.close(scopes_.back().dims, unused);
    fns_.close(scopes_.back().fns, unused);
    values_.close(scopes_.back().values, unused);
    scopes_.pop_back();
  }

  void tell(const Declared& declared) {
    const std::string name(declared.name);
    const SourceRange range = world_.locate(name, declared.range);
    Diagnostic note;
    note.code = "L0003";
    note.severity = Severity::note;
    note.range = range;
    note.message = "the " + std::string(declared.what) + " `" + name + "` is never used";
    note.label = "nothing in this file uses it";
    Fix fix;
    fix.message = "if this is intended, rename it to `_" + name + "`";
    fix.edits.push_back({range, "_" + name});
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
    for (const auto& entry : node.entries) dims_.use(entry.name);
  }
  void visit(const syntax::DimDecl& node) {
    for (const Name& name : node.of) dims_.use(name);
    if (node.size) expr(*node.size);
  }
  void visit(const syntax::FunctionDecl& node) {
    if (node.instance && node.instance->number > 0) return;
    if (node.implements) fns_.use(node.implements->model);
    open();
    if (node.pattern) shadow(*node.pattern);
    for (const auto* list : {&node.params, &node.saved})
      for (const syntax::Param& param : *list) {
        for (const Name& name : param.group.names) hide(values_, name);
        type(param.group.type);
        if (param.value) expr(*param.value);
      }
    groups(node.results.groups);
    block(node.body);
    close();
  }

  void declare_fns() {
    for (const syntax::Declaration& declaration : file_.ast->declarations)
      if (auto* function = std::get_if<syntax::FunctionDecl>(&declaration))
        if (!function->is_plan && !function->implements)
          add(fns_, {function->name, function->name_range, "fn"});
  }

  /// A dim of this file may give a size to a dim of an imported file, so it counts as used.
  void declare(const syntax::DimDecl& node) {
    SourceRange rest = node.range;
    for (const Name& name : node.names) {
      Declared declared{name, world_.locate_next(name, rest), "dim"};
      const auto files = world_.dim_files.find(name);
      if (scopes_.size() == 1 && files != world_.dim_files.end())
        declared.used = std::any_of(files->second.begin(), files->second.end(),
                                    [&](size_t file) { return file != index_; });
      add(dims_, declared);
    }
  }

  /// Dims that a function's pattern binds hide the file's dims of the same name.
  void shadow(const std::string& pattern) {
    for_each_word(pattern, [&](std::string_view name) { hide(dims_, name); });
  }

  // --- types and expressions ---
  void groups(const std::vector<syntax::Group>& list) {
    for (const syntax::Group& each : list) type(each.type);
  }
  void type(const syntax::TypeExpr& node) {
    for (const syntax::SplitExpr& split : node.dims)
      for (const Name& name : split.names) dims_.use(name);
  }
  void exprs(const std::vector<Expr>& list) {
    for (const Expr& each : list) expr(each);
  }
  void expr(const Expr& node) {
    using Kind = Expr::Kind;
    if (node.kind == Kind::name) values_.use(node.text);
    if (node.kind == Kind::size) dims_.use(node.text);
    if (node.kind == Kind::call || node.kind == Kind::grad || node.kind == Kind::value_and_grad)
      fns_.use(node.text);
    if (node.kind == Kind::string && dims_.any_unused())
      for_each_word(node.text, [&](std::string_view name) { dims_.use(name); });
    if (node.kind == Kind::entry)
      for (const Name& name : node.names) values_.use(name);
    for (const syntax::TypeExpr& each : node.type) type(each);
    exprs(node.args);
  }

  template <class Visit>
  static void for_each_word(const std::string& text, Visit visit) {
    const auto letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    for (auto at = text.begin(); at != text.end();) {
      const auto begin = std::find_if(at, text.end(), letter);
      at = std::find_if_not(begin, text.end(), letter);
      if (begin != at) visit(std::string_view(begin, at));
    }
  }

  // --- statements ---
  void block(const syntax::Block& body) {
    open();
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
      add(values_, {target.name, target.range, "value", kept});
    }
  }
  void loop(const syntax::Loop& node) {
    for (const Name& name : node.dims) dims_.use(name);
    dims_.use(node.block_dim);
    exprs(node.schedule_args);
    open();  // a loop may reuse the names of an earlier loop
    for (const syntax::Carry& carry : node.carries) {
      type(carry.type);
      expr(carry.init);
    }
    for (const Name& name : node.variables) hide(values_, name);
    for (const syntax::Carry& carry : node.carries) hide(values_, carry.name);
    block(node.body);
    close();
  }

  const World& world_;
  size_t index_;
  const FileScope& file_;
  Names dims_, values_, fns_;
  std::vector<Scope> scopes_;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> unused(const World& world) {
  return world.errors() > 0 ? std::vector<Diagnostic>() : UnusedFinder(world).run();
}

}  // namespace shardproof::resolution
