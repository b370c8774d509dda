#include "spec/resolve/r_and_i.h"

#include <map>
#include <set>
#include <utility>

namespace shardproof::resolution {
namespace {

constexpr size_t most_axes = 4;  // 16 instances

using Choice = std::map<Axis, bool>;  ///< whether it is I

/// Writes R or I wherever a plan has `?`.
class Chooser {
 public:
  explicit Chooser(const Choice& choice) : choice_(choice) {}

  void function(syntax::FunctionDecl& decl) const {
    for (syntax::Param& param : decl.params) type(param.group.type);
    for (syntax::Group& group : decl.results.groups) type(group.type);
    block(decl.body);
  }

 private:
  void type(syntax::TypeExpr& type) const {
    std::vector<syntax::MarkExpr> marks;
    for (syntax::MarkExpr mark : type.marks) {
      const auto chosen = mark.either ? choice_.find(mark.axis) : choice_.end();
      if (chosen != choice_.end()) mark.either = false;
      if (chosen == choice_.end() || chosen->second) marks.push_back(std::move(mark));
    }
    type.marks = std::move(marks);
  }

  /// `B {?_t} -> B` becomes `B {I_t} -> B` or `B {   } -> B`: the offsets stay.
  void pattern(std::string& text) const {
    for (const auto& [axis, is_i] : choice_)
      for (size_t at = text.find("?_" + axis); at != text.npos;
           at = text.find("?_" + axis, at + 1)) {
        const size_t size = axis.size() + 2;
        const char after = at + size < text.size() ? text[at + size] : ' ';
        if (after == ' ' || after == '}') text.replace(at, size, mark(axis, is_i));
      }
  }
  static std::string mark(const Axis& axis, bool is_i) {
    return is_i ? "I_" + axis : std::string(axis.size() + 2, ' ');
  }

  void exprs(std::vector<syntax::Expr>& list) const {
    for (syntax::Expr& each : list) expr(each);
  }
  void expr(syntax::Expr& expr) const {
    if (expr.kind == syntax::Expr::Kind::string) pattern(expr.text);
    for (syntax::TypeExpr& each : expr.type) type(each);
    exprs(expr.args);
  }

  void block(syntax::Block& body) const {
    for (syntax::Statement& statement : body)
      std::visit([&](auto& node) { visit(node); }, statement.node);
  }
  void visit(syntax::DimDecl&) const {}
  void visit(syntax::Require&) const {}
  void visit(syntax::Assume&) const {}
  void visit(syntax::Return& node) const { exprs(node.values); }
  void visit(syntax::Next& node) const { exprs(node.values); }
  void visit(syntax::Emit& node) const { exprs(node.values); }
  void visit(syntax::Bind& bind) const {
    for (syntax::Target& target : bind.targets)
      if (target.type) type(*target.type);
    exprs(bind.value);
    for (syntax::Loop& loop : bind.loop) {
      for (syntax::Carry& carry : loop.carries) {
        type(carry.type);
        expr(carry.init);
      }
      block(loop.body);
    }
  }

  const Choice& choice_;
};

std::set<Axis> open_axes(const syntax::FunctionDecl& decl) {
  std::set<Axis> axes;
  for (const syntax::Param& param : decl.params)
    for (const syntax::MarkExpr& mark : param.group.type.marks)
      if (mark.either) axes.insert(mark.axis);
  return axes;
}

syntax::FunctionDecl instance(syntax::FunctionDecl decl, const std::set<Axis>& axes,
                              size_t number) {
  Choice choice;
  std::string states;
  size_t bit = 0;
  for (const Axis& axis : axes) {
    const bool is_i = choice[axis] = ((number >> bit++) & 1u) != 0;
    states += (states.empty() ? "" : " ") + std::string(is_i ? "I_" : "R_") + axis;
  }
  decl.instance = {decl.name, number, size_t{1} << axes.size()};
  decl.name += "{" + states + "}";
  Chooser(choice).function(decl);
  return decl;
}

}  // namespace

syntax::File with_instances(syntax::File file) {
  std::vector<syntax::Declaration> declarations;
  for (syntax::Declaration& each : file.declarations) {
    auto* decl = std::get_if<syntax::FunctionDecl>(&each);
    const bool has_gradient =
        decl && decl->is_plan && !decl->trusted && !(decl->implements && decl->implements->grad);
    const std::set<Axis> axes = has_gradient ? open_axes(*decl) : std::set<Axis>{};
    if (axes.empty() || axes.size() > most_axes) {
      declarations.push_back(std::move(each));
      continue;
    }
    for (size_t number = 0; number < size_t{1} << axes.size(); ++number)
      declarations.push_back(instance(*decl, axes, number));
  }
  file.declarations = std::move(declarations);
  return file;
}

}  // namespace shardproof::resolution
