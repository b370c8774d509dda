#include "spec/resolve/stated.h"

#include <algorithm>
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
        return expr.text == "@" ? of_product(expr, depth) : widest(expr.args, depth);
      case Kind::zeros:
        return expr.type.empty() ? std::nullopt : of_type(expr.type[0]);
      case Kind::call:
        return of_call(expr, depth);
      case Kind::field:
        return of_parameter(expr);
      case Kind::entry:
        return of_entry(expr, of(expr.args.at(0), depth + 1));
      case Kind::string:
      case Kind::dtype:
      case Kind::grad:
      case Kind::value_and_grad:
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

  std::optional<Stated> of_product(const syntax::Expr& product, int depth) {
    const auto left = of(product.args[0], depth + 1), right = of(product.args[1], depth + 1);
    if (!left || !right) return std::nullopt;
    std::vector<Stated> found = products(*left, *right);
    return found.empty() ? std::optional<Stated>() : std::move(found[0]);
  }

  /// A field of a parameter, also of an entry: `w.a`, `w.layers[n].a`.
  std::optional<Stated> of_parameter(const syntax::Expr& field) const {
    std::vector<const syntax::Expr*> path{&field};
    while (!path.back()->args.empty()) path.push_back(&path.back()->args[0]);
    const Binding* binding = body_.find(path.back()->text);
    const Values* values = binding ? &binding->values : nullptr;
    for (size_t i = path.size() - 1; values && i-- > 0;) {
      if (path[i]->kind == syntax::Expr::Kind::entry) continue;
      const auto& names = values->names;
      const auto at = std::find(names.begin(), names.end(), path[i]->text) - names.begin();
      const bool found = path[i]->kind == syntax::Expr::Kind::field &&
                         static_cast<size_t>(at) < values->fields.size();
      values = found ? &values->fields[static_cast<size_t>(at)] : nullptr;
    }
    if (!values || values->is_record() || values->leaf == ir::no_value ||
        !body_.function.values[values->leaf].stated)
      return std::nullopt;
    std::optional<Stated> result = Stated{};
    for (const Split& split : body_.type(values->leaf).dims) {
      syntax::SplitExpr written;
      written.names = split.dim.factors;
      written.axes = split.axes;
      result->dims.push_back(std::move(written));
    }
    for (const auto& [axis, mark] : body_.type(values->leaf).marks)
      result->marks.push_back({mark, axis, {}});
    for (const syntax::Expr* each : path)
      if (each->kind == syntax::Expr::Kind::entry) result = of_entry(*each, std::move(result));
    return result;
  }

  /// Without the dims of the loops over whose variables the entry is taken.
  std::optional<Stated> of_entry(const syntax::Expr& entry, std::optional<Stated> whole) const {
    for (const Name& name : entry.names) {
      const Binding* variable = body_.find(name);
      if (!variable || !variable->loop_dim || variable->ring_block || !whole) return std::nullopt;
      if (!std::erase_if(whole->dims, [&](const syntax::SplitExpr& dim) {
            return dim.names == variable->loop_dim->factors;
          }))
        return std::nullopt;
    }
    return whole;
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
  const size_t close = type.rfind(']');
  const std::string dims = type.substr(1, close - 1), marks = type.substr(close + 1);
  return dims + (dims.empty() || marks.empty() ? "" : " ") + marks;
}

std::optional<Stated> stated_type(const Body& body, const syntax::Expr& expr) {
  return Reader(body).of(expr);
}

namespace {

const syntax::Expr* value_in(const syntax::Block& block, const Name& name) {
  for (const syntax::Statement& statement : block) {
    const auto* bind = std::get_if<syntax::Bind>(&statement.node);
    if (!bind) continue;
    if (bind->targets.size() == 1 && bind->targets[0].name == name && !bind->targets[0].type &&
        !bind->value.empty())
      return &bind->value[0];
    for (const syntax::Loop& loop : bind->loop)
      if (const syntax::Expr* found = value_in(loop.body, name)) return found;
  }
  return nullptr;
}

}  // namespace

std::optional<Origin> origin_of(const Body& body, const Name& name) {
  const syntax::FunctionDecl* decl = declaration(body, body.scope->function);
  if (!decl || body.scope->instance) return std::nullopt;
  for (const syntax::Param& param : decl->params)
    for (const Name& each : param.group.names)
      if (each == name && dtype_of(param.group.type.name))
        return Origin{&param.group.type, nullptr};
  if (const syntax::Expr* value = value_in(decl->body, name)) return Origin{nullptr, value};
  return std::nullopt;
}

std::vector<Stated> products(const Stated& left, const Stated& right) {
  const auto place = [](const Stated& in, const syntax::SplitExpr& dim) {
    size_t at = 0;
    while (at < in.dims.size() && in.dims[at].names != dim.names) ++at;
    return at;
  };
  std::vector<Stated> results;
  for (const bool all : {false, true}) {  // the last dim of the left, or all that both have
    std::vector<bool> kept(left.dims.size(), true);
    for (size_t i = 0; i < kept.size(); ++i)
      kept[i] = (!all && i + 1 < kept.size()) || place(right, left.dims[i]) == right.dims.size();
    if (std::count(kept.begin(), kept.end(), false) == 0) continue;
    Stated result = reduced(left, kept, Mark::U);
    for (const syntax::SplitExpr& dim : right.dims)
      if (place(left, dim) == left.dims.size()) result.dims.push_back(dim);
    for (const syntax::MarkExpr& mark : right.marks)
      if (std::none_of(result.marks.begin(), result.marks.end(),
                       [&](const auto& each) { return each.axis == mark.axis; }))
        result.marks.push_back(mark);
    if (all && result.dims.empty() && !results.empty()) continue;
    if (results.empty() || to_string(results[0]) != to_string(result))
      results.push_back(std::move(result));
  }
  return results;
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
