#include "spec/lsp/occurrences.h"

#include <algorithm>
#include <set>

#include "spec/syntax/lexer.h"
#include "spec/syntax/parser.h"

namespace shardproof::lsp {
namespace {

using namespace syntax;

class Walk {
 public:
  Walk(const Sources& sources, const File& file) : sources_(sources), file_(file) {
    for (const Declaration& each : file.declarations)
      if (const auto* record = std::get_if<RecordDecl>(&each)) records_.insert(record->name);
  }

  std::vector<Occurrence> all() {
    for (size_t i = 0; i < file_.declarations.size(); ++i) {
      const Declaration& each = file_.declarations[i];
      const bool inside = std::holds_alternative<FunctionDecl>(each);
      function_ = inside ? static_cast<int>(i) : -1;
      std::visit([this](const auto& declaration) { declare(declaration); }, each);
    }
    std::stable_sort(found_.begin(), found_.end(), [](const Occurrence& a, const Occurrence& b) {
      return a.range.begin < b.range.begin;
    });
    return std::move(found_);
  }

 private:
  /// The words in a range, outside of comments.
  std::vector<Token> words(const SourceRange& range) {
    std::vector<Diagnostic> ignored;
    Report report(ignored);
    std::vector<Token> result;
    if (range.file < 0) return result;
    for (const Token& token : lex(sources_.text(range), range.file, range.begin, false, report))
      if (token.kind == Token::Kind::word || token.kind == Token::Kind::number)
        result.push_back(token);
    return result;
  }

  void add(NameKind kind, const Name& name, uint32_t begin, uint32_t end, bool declares = false) {
    found_.push_back({kind, name, {file_.source, begin, end}, declares, function_});
  }

  /// Looks for names in a range in their order; each begins after the last one that was found.
  class Finder {
   public:
    Finder(Walk& walk, const SourceRange& range) : walk_(walk), words_(walk.words(range)) {}
    bool add(NameKind kind, const Name& name, bool declares = false) {
      for (size_t i = at_; i < words_.size(); ++i) {
        if (words_[i].text != name) continue;
        at_ = i + 1;
        walk_.add(kind, name, words_[i].begin, words_[i].end, declares);
        return true;
      }
      return false;
    }
    void skip(std::string_view word) {
      for (size_t i = at_; i < words_.size(); ++i)
        if (words_[i].text == word) {
          at_ = i + 1;
          return;
        }
    }

   private:
    Walk& walk_;
    std::vector<Token> words_;
    size_t at_ = 0;
  };

  void declare(const ImportDecl& import) {
    Finder finder(*this, import.range);
    for (const Name& name : import.names) finder.add(NameKind::function, name);
  }
  void declare(const MeshDecl& mesh) {
    for (const auto& axis : mesh.axes)
      Finder(*this, axis.range).add(NameKind::axis, axis.axis, true);
  }
  void declare(const DimDecl& dim) {
    Finder finder(*this, dim.range);
    for (const Name& name : dim.names) finder.add(NameKind::dim, name, true);
    for (const Name& name : dim.of) finder.add(NameKind::dim, name);
    if (dim.size) expression(*dim.size);
  }
  void declare(const ConstDecl& constant) {
    Finder(*this, constant.range).add(NameKind::constant, constant.name, true);
    expression(constant.value);
  }
  void declare(const Require& require) { expression(require.condition); }
  void declare(const ConfigDecl& config) {
    Finder(*this, config.range).add(NameKind::config, config.name, true);
    for (const auto& entry : config.entries)
      Finder(*this, entry.range).add(NameKind::dim, entry.name);
  }
  void declare(const RecordDecl& record) {
    Finder(*this, record.range).add(NameKind::record, record.name, true);
    for (const syntax::Group& field : record.fields) type(field.type);
  }
  void declare(const LayoutDecl& layout) {
    Finder finder(*this, layout.range);
    finder.add(NameKind::record, layout.name, true);
    finder.skip("of");
    finder.add(NameKind::record, layout.record);
    for (const syntax::Group& field : layout.fields) type(field.type);
  }
  void declare(const ScheduleDecl& schedule) {
    Finder(*this, schedule.range).add(NameKind::schedule, schedule.name, true);
  }
  void declare(const FunctionDecl& function) {
    params_.clear();
    values_.clear();
    const int own = function_;
    function_ = -1;
    add(NameKind::function, function.name, function.name_range.begin, function.name_range.end,
        true);
    Finder head(*this, {file_.source, function.name_range.end, function.range.end});
    if (function.implements) head.add(NameKind::function, function.implements->model);
    if (function.after) {
      head.skip("after");
      head.add(NameKind::function, *function.after);
    }
    function_ = own;
    if (function.pattern) pattern(*function.pattern, function.pattern_range);
    for (const auto* list : {&function.params, &function.saved})
      for (const Param& each : *list) {
        Finder names(*this, each.group.range);
        for (const Name& name : each.group.names) {
          params_.insert(name);
          names.add(NameKind::parameter, name, true);
        }
        type(each.group.type);
        if (each.value) expression(*each.value);
      }
    for (const syntax::Group& each : function.results.groups) type(each.type);
    block(function.body);
  }

  void type(const TypeExpr& type) {
    if (!type.has_dims || !is_capital(type.name)) {
      if (is_capital(type.name)) Finder(*this, type.range).add(NameKind::record, type.name);
    } else {
      Finder(*this, type.range).add(NameKind::record, type.name);
    }
    for (const SplitExpr& each : type.dims) split(each);
    for (const MarkExpr& each : type.marks) mark(each);
  }
  static bool is_capital(const Name& name) {
    return !name.empty() && name[0] >= 'A' && name[0] <= 'Z';
  }
  void split(const SplitExpr& split) {
    if (split.kind != SplitExpr::Kind::dim) return;
    Finder finder(*this, split.range);
    for (const Name& name : split.names)
      if (!std::isdigit(static_cast<unsigned char>(name[0]))) finder.add(NameKind::dim, name);
    for (const Axis& axis : split.axes) finder.add(NameKind::axis, axis);
  }
  void mark(const MarkExpr& mark) {
    const auto size = static_cast<uint32_t>(mark.axis.size());
    if (mark.range.end >= mark.range.begin + size)
      add(NameKind::axis, mark.axis, mark.range.end - size, mark.range.end);
  }
  void pattern(const std::string& text, const SourceRange& range) {
    std::vector<Diagnostic> ignored;
    const auto read = parse_pattern(text, range, ignored);
    if (!read || !ignored.empty()) return;
    const auto operand = [this](const OperandExpr& each) {
      for (const SplitExpr& dim : each.dims) split(dim);
      for (const MarkExpr& each_mark : each.marks) mark(each_mark);
    };
    for (const OperandExpr& each : read->left) operand(each);
    if (read->right) operand(*read->right);
    for (const SplitExpr& each : read->working) split(each);
  }

  void value(const Name& name, uint32_t begin) {
    const NameKind kind = params_.count(name)   ? NameKind::parameter
                          : values_.count(name) ? NameKind::value
                                                : NameKind::constant;
    add(kind, name, begin, begin + static_cast<uint32_t>(name.size()));
  }
  void expression(const Expr& expr) {
    const SourceRange& range = expr.range;
    switch (expr.kind) {
      case Expr::Kind::number:
      case Expr::Kind::boolean:
      case Expr::Kind::dtype:
      case Expr::Kind::unary:
      case Expr::Kind::binary:
      case Expr::Kind::cast:
        break;
      case Expr::Kind::string:
        if (range.end >= range.begin + 2)
          pattern(expr.text, {range.file, range.begin + 1, range.end - 1});
        break;
      case Expr::Kind::size:  // a dim or an axis: told apart at the end
        Finder(*this, range).add(is_capital(expr.text) ? NameKind::dim : NameKind::axis, expr.text);
        break;
      case Expr::Kind::name:
        value(expr.text, range.begin);
        break;
      case Expr::Kind::call: {
        if (expr.text == "with") break;
        Finder finder(*this, range);
        finder.add(is_capital(expr.text) ? NameKind::record : NameKind::function, expr.text);
        break;
      }
      case Expr::Kind::grad:
      case Expr::Kind::value_and_grad: {
        Finder finder(*this, range);
        finder.add(NameKind::function, expr.text);
        break;
      }
      case Expr::Kind::zeros:
        for (const TypeExpr& each : expr.type) type(each);
        break;
      case Expr::Kind::field:
        field(expr);
        break;
      case Expr::Kind::entry: {
        const uint32_t from = expr.args.empty() ? range.begin : expr.args[0].range.end;
        for (const Token& token : words({range.file, from, range.end}))
          value(std::string(token.text), token.begin);
        break;
      }
    }
    if (expr.kind == Expr::Kind::call && expr.text == "fold") {
      for (const Expr& arg : expr.args)
        if (arg.kind != Expr::Kind::string) expression(arg);
      return;
    }
    for (const Expr& arg : expr.args) expression(arg);
  }
  void field(const Expr& expr) {
    const auto size = static_cast<uint32_t>(expr.text.size());
    const std::string path(sources_.text(expr.range));
    if (expr.range.end >= expr.range.begin + size)
      add(NameKind::field, path, expr.range.end - size, expr.range.end);
  }

  void block(const Block& block) {
    for (const Statement& each : block)
      std::visit([&](const auto& node) { statement(node, each.range); }, each.node);
  }
  void statement(const DimDecl& dim, const SourceRange&) { declare(dim); }
  void statement(const Require& require, const SourceRange&) { declare(require); }
  void statement(const Assume& assume, const SourceRange&) {
    for (const Expr& each : assume.terms) expression(each);
  }
  void statement(const Bind& bind, const SourceRange&) {
    for (const Expr& each : bind.value) expression(each);
    for (const Loop& each : bind.loop) loop(each);
    for (const Target& each : bind.targets) {
      values_.insert(each.name);
      Finder(*this, each.range).add(NameKind::value, each.name, true);
      if (each.type) type(*each.type);
    }
  }
  void statement(const Return& node, const SourceRange&) { values(node.values); }
  void statement(const Next& node, const SourceRange&) { values(node.values); }
  void statement(const Emit& node, const SourceRange&) { values(node.values); }
  void values(const std::vector<Expr>& list) {
    for (const Expr& each : list) expression(each);
  }
  void loop(const Loop& loop) {
    Finder finder(*this, loop.range);
    for (size_t i = 0; i < loop.variables.size(); ++i) {
      values_.insert(loop.variables[i]);
      finder.add(NameKind::value, loop.variables[i], true);
      if (i < loop.dims.size()) finder.add(NameKind::dim, loop.dims[i]);
    }
    for (size_t i = loop.variables.size(); i < loop.dims.size(); ++i)
      finder.add(NameKind::dim, loop.dims[i]);
    if (!loop.axis.empty()) finder.add(NameKind::axis, loop.axis);
    if (!loop.block_dim.empty()) finder.add(NameKind::dim, loop.block_dim, true);
    if (!loop.schedule.empty()) finder.add(NameKind::schedule, loop.schedule);
    values(loop.schedule_args);
    for (const Carry& carry : loop.carries) expression(carry.init);
    for (const Carry& carry : loop.carries) {
      values_.insert(carry.name);
      Finder(*this, carry.range).add(NameKind::value, carry.name, true);
      type(carry.type);
    }
    block(loop.body);
  }

  const Sources& sources_;
  const File& file_;
  std::set<Name> params_, values_, records_;
  int function_ = -1;
  std::vector<Occurrence> found_;
};

/// `|t|` and the entries of a config: an axis if the file declares one, else a dim or a const.
void tell_apart(std::vector<Occurrence>& all) {
  std::set<Name> axes, dims, consts;
  for (const Occurrence& each : all) {
    if (!each.declares) continue;
    if (each.kind == NameKind::axis) axes.insert(each.name);
    if (each.kind == NameKind::dim) dims.insert(each.name);
    if (each.kind == NameKind::constant) consts.insert(each.name);
  }
  for (Occurrence& each : all) {
    if (each.declares || (each.kind != NameKind::dim && each.kind != NameKind::axis)) continue;
    if (each.kind == NameKind::axis && !axes.count(each.name) && dims.count(each.name))
      each.kind = NameKind::dim;
    else if (each.kind == NameKind::dim && !dims.count(each.name)) {
      if (axes.count(each.name))
        each.kind = NameKind::axis;
      else if (consts.count(each.name))
        each.kind = NameKind::constant;
    }
  }
}

}  // namespace

std::vector<Occurrence> occurrences_of(const Sources& sources, const syntax::File& file) {
  std::vector<Occurrence> all = Walk(sources, file).all();
  tell_apart(all);
  return all;
}

const Occurrence* occurrence_at(const std::vector<Occurrence>& all, uint32_t offset) {
  const Occurrence* best = nullptr;
  for (const Occurrence& each : all)
    if (each.range.begin <= offset && offset <= each.range.end &&
        (!best || offset < best->range.end || each.range.begin == offset))
      best = &each;
  return best;
}

SameName::SameName(const std::vector<Occurrence>& all, const Occurrence& name) : name_(name) {
  if (name.kind == NameKind::dim)
    for (const Occurrence& each : all)
      if (each.declares && each.kind == NameKind::dim && each.function >= 0 &&
          each.name == name.name)
        bodies_.insert(each.function);
}

bool SameName::operator()(const Occurrence& other) const {
  if (name_.kind != other.kind || name_.name != other.name || name_.kind == NameKind::field)
    return false;
  if (name_.kind == NameKind::value || name_.kind == NameKind::parameter)
    return name_.function == other.function;
  const bool own = bodies_.count(name_.function) > 0;
  return own == (bodies_.count(other.function) > 0) && (!own || name_.function == other.function);
}

}  // namespace shardproof::lsp
