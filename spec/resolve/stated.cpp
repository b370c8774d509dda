#include "spec/resolve/stated.h"

#include <set>

#include "spec/syntax/parser.h"

namespace shardproof::resolution {
namespace {

constexpr int deepest = 50;
constexpr size_t most_names = 200;  // each is looked up in the whole body

const syntax::FunctionDecl* declaration(const Body& body, const Name& name) {
  const auto found = body.file().functions.find(name);
  return found == body.file().functions.end() ? nullptr : body.world.functions[found->second].decl;
}

std::optional<Stated> of_type(const syntax::TypeExpr& type) {
  if (!dtype_of(type.name)) return std::nullopt;
  return Stated{type.dims, type.marks};
}

std::optional<Stated> of_pattern(const syntax::Expr& string) {
  std::vector<Diagnostic> ignored;
  const auto pattern = syntax::parse_pattern(string.text, string.range, ignored);
  if (!pattern || !ignored.empty()) return std::nullopt;
  if (!pattern->right && pattern->left.size() != 1) return std::nullopt;
  const syntax::OperandExpr& side = pattern->right ? *pattern->right : pattern->left[0];
  if (!side.type_name.empty()) return std::nullopt;
  for (const syntax::SplitExpr& split : side.dims)
    if (split.bracketed || split.kind != syntax::SplitExpr::Kind::dim) return std::nullopt;
  return Stated{side.dims, side.marks};
}

class Reader {
 public:
  explicit Reader(const Body& body) : body_(body) {}

  std::optional<Stated> of(const syntax::Expr& expr, int depth = 0) {
    using Kind = syntax::Expr::Kind;
    if (depth == deepest) return std::nullopt;
    switch (expr.kind) {
      case Kind::number:
      case Kind::boolean:
      case Kind::size:
        return Stated{};
      case Kind::name:
        return of_name(expr.text, depth);
      case Kind::unary:
      case Kind::cast:
        return expr.args.empty() ? std::nullopt : of(expr.args[0], depth + 1);
      case Kind::binary:
        return widest(expr.args, depth);
      case Kind::zeros:
        return expr.type.empty() ? std::nullopt : of_type(expr.type[0]);
      case Kind::call:
        return of_call(expr, depth);
      case Kind::string:
      case Kind::dtype:
      case Kind::grad:
      case Kind::value_and_grad:
      case Kind::field:
      case Kind::entry:
        return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  std::optional<Stated> of_call(const syntax::Expr& call, int depth) {
    if (call.each || call.args.empty()) return std::nullopt;
    if (call.args[0].kind == syntax::Expr::Kind::string) return of_pattern(call.args[0]);
    if (const auto* decl = declaration(body_, call.text)) {
      const std::vector<syntax::Group>& groups = decl->results.groups;
      return groups.size() == 1 ? of_type(groups[0].type) : std::nullopt;
    }
    return widest(call.args, depth);
  }

  /// Of a pointwise operation: one operand has all dims.
  std::optional<Stated> widest(const std::vector<syntax::Expr>& operands, int depth) {
    std::optional<Stated> result;
    for (const syntax::Expr& operand : operands) {
      std::optional<Stated> own = of(operand, depth + 1);
      if (!own) continue;
      const bool wider = !result || own->dims.size() > result->dims.size();
      const bool marked = result && own->dims.size() == result->dims.size() &&
                          own->marks.size() > result->marks.size();
      if (wider || marked) result = std::move(own);
    }
    return result;
  }

  std::optional<Stated> of_name(const Name& name, int depth) {
    if (seen_.size() == most_names || !seen_.insert(name).second) return std::nullopt;
    const syntax::FunctionDecl* decl = declaration(body_, body_.scope->function);
    if (!decl || body_.scope->instance) return std::nullopt;
    for (const syntax::Param& param : decl->params)
      for (const Name& each : param.group.names)
        if (each == name) return of_type(param.group.type);
    return in_block(decl->body, name, depth);
  }

  std::optional<Stated> in_block(const syntax::Block& block, const Name& name, int depth) {
    for (const syntax::Statement& statement : block) {
      const auto* bind = std::get_if<syntax::Bind>(&statement.node);
      if (!bind) continue;
      for (const syntax::Target& target : bind->targets)
        if (target.name == name && (target.type || bind->targets.size() == 1))
          return target.type           ? of_type(*target.type)
                 : bind->value.empty() ? std::nullopt
                                       : of(bind->value[0], depth + 1);
      for (const syntax::Loop& loop : bind->loop) {
        for (const syntax::Carry& carry : loop.carries)
          if (carry.name == name) return of_type(carry.type);
        if (auto found = in_block(loop.body, name, depth)) return found;
      }
    }
    return std::nullopt;
  }

  const Body& body_;
  std::set<Name> seen_;  ///< `y * y`: both operands state the same
};

}  // namespace

std::string to_string(const Stated& stated) {
  const std::string type = syntax::print(syntax::TypeExpr{"", true, stated.dims, stated.marks, {}});
  const size_t close = type.find(']');
  const std::string dims = type.substr(1, close - 1), marks = type.substr(close + 1);
  return dims + (dims.empty() || marks.empty() ? "" : " ") + marks;
}

std::optional<Stated> stated_type(const Body& body, const syntax::Expr& expr) {
  return Reader(body).of(expr);
}

Stated reduced(const Stated& stated, const std::vector<bool>& kept, Mark mark) {
  Stated result{{}, stated.marks};
  for (size_t i = 0; i < stated.dims.size(); ++i) {
    if (kept[i]) {
      result.dims.push_back(stated.dims[i]);
      continue;
    }
    for (const Axis& axis : stated.dims[i].axes) {
      syntax::MarkExpr left;
      left.mark = mark;
      left.axis = axis;
      result.marks.push_back(left);
    }
  }
  return result;
}

}  // namespace shardproof::resolution
