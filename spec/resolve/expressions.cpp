// Translates expressions to instructions.
#include <cstdlib>

#include "spec/resolve/calls.h"
#include "spec/resolve/foreign_calls.h"
#include "spec/resolve/foreign_slices.h"
#include "spec/resolve/meant.h"
#include "spec/resolve/no_such_value.h"
#include "spec/resolve/numbers.h"
#include "spec/resolve/primitives.h"

namespace shardproof::resolution {
namespace {

Values const_value(Body& body, const Constant& constant, const syntax::Expr& expr) {
  if (constant.over.empty())
    return tensor(body.number(constant.text, constant.value, expr.range, expr.text));
  const auto part = [&](const std::string& text) {
    return body.number(text, std::stod(text), expr.range);
  };
  const ir::ValueId above = part(constant.text), below = part(constant.over);
  return tensor(body.emit(ir::Binary{ir::BinaryFn::div}, {above, below}, {}, Dtype::number,
                          expr.range, {expr.range, expr.range}));
}

Values name_value(Body& body, const syntax::Expr& expr) {
  if (const Binding* binding = body.find(expr.text)) return binding->values;
  const FileScope& file = body.file();
  if (auto found = file.consts.find(expr.text); found != file.consts.end())
    return const_value(body, found->second, expr);
  const bool is_axis = file.axes.count(expr.text);
  if (is_axis && !body.scope->is_plan) return size_value(body, expr);  // which is refused
  if (is_axis || file.dims.count(expr.text) || body.scope->dims.count(expr.text)) {
    Diagnostic& error = body.error(
        "E0109", expr.range,
        "`" + expr.text + "` is " + (is_axis ? "a mesh axis" : "a dim") + ", not a value");
    error.fixes.push_back(
        {"its size is `|" + expr.text + "|`", {{expr.range, "|" + expr.text + "|"}}, false, ""});
    return unknown_value();
  }
  no_such_value(body, expr.text, expr.range);
  return unknown_value();
}

Values field_value(Body& body, const syntax::Expr& expr) {
  const Values record = body.one(expr.args.at(0));
  if (!record.is_record()) {
    if (record.leaf != ir::no_value) {
      Diagnostic& error =
          body.error("E0109", expr.range, "a tensor has no field `" + expr.text + "`");
      if (expr.text == "T" || expr.text == "mT")
        error.fixes = transposed_in_the_notation(body, expr);
    }
    return unknown_value();
  }
  for (size_t i = 0; i < record.names.size(); ++i)
    if (record.names[i] == expr.text) return record.fields[i];
  SourceRange tail = expr.range;
  tail.begin = expr.args[0].range.end;
  body.world.unknown("field", expr.text, tail, record.names);
  return unknown_value();
}

/// `scan n in L` of an `x[n]` whose dims are `N B M`: a scan over N.
std::optional<Fix> loop_over(const Body& body, const Binding& variable, const Shape& shape) {
  if (shape.dims.empty() || shape.dims[0].dim.factors.size() != 1 || variable.range.file < 0)
    return std::nullopt;
  const Name &dim = shape.dims[0].dim.factors[0], own = to_string(*variable.loop_dim);
  const std::string& text = body.world.sources.file(variable.range.file).text;
  const std::string before = " in " + own;
  if (text.compare(variable.range.end, before.size(), before) != 0) return std::nullopt;
  const auto end = variable.range.end + static_cast<uint32_t>(before.size());
  return Fix{"let the loop go over `" + dim + "`",
             {{{variable.range.file, end - static_cast<uint32_t>(own.size()), end}, dim}},
             false,
             ""};
}

// t[n], for a leaf that has the loop's dim or an alias of it.
ir::ValueId entry(Body& body, ir::ValueId id, const Binding& variable, SourceRange range,
                  SourceRange operand) {
  Shape shape = body.type(id);
  const Dim& dim = *variable.loop_dim;
  const ir::Program& program = body.world.program;
  size_t at = shape.dims.size();
  for (size_t i = shape.dims.size(); i-- > 0;)
    if (program.same_dim(shape.dims[i].dim, dim)) at = i;
  for (size_t i = 0; i < shape.dims.size(); ++i)
    if (shape.dims[i].dim == dim) at = i;
  if (at == shape.dims.size()) {
    Diagnostic& error =
        body.error("E0305", range, "there is no dim `" + to_string(dim) + "` to take an entry of",
                   "this is `" + dims_text(shape) + "`");
    error.types = {to_string(body.type(id))};
    const auto fits = [&](const Type& other) {
      return find(other, dim) && other.dims.size() == shape.dims.size() + 1;
    };
    error.fixes = other_values(body, operand, fits);
    if (auto fix = loop_over(body, variable, shape)) error.fixes.push_back(*std::move(fix));
    return ir::no_value;
  }
  const Dim found = shape.dims[at].dim;
  if (variable.ring_block)
    shape.dims[at].dim = *variable.ring_block;
  else
    shape.dims.erase(shape.dims.begin() + static_cast<std::ptrdiff_t>(at));
  const Dtype dtype = body.type(id).dtype;
  const std::string name = body.function.values[id].name;
  return body.emit(ir::Entry{found}, {id, variable.values.leaf}, shape, dtype, range,
                   {operand, range});
}

Values entry_value(Body& body, const syntax::Expr& expr) {
  Values value = body.one(expr.args.at(0));
  if (is_slice(expr)) {
    const SourceRange brackets{expr.range.file, expr.args[0].range.end, expr.range.end};
    body.error("E0002", brackets, "expected the variable of a loop",
               "`x[n]` is the entry of the loop over n")
        .fixes.push_back(slice_in_the_notation(body, expr));
    return unknown_value();
  }
  for (const Name& name : expr.names) {
    Binding* variable = body.find(name);
    if (!variable) {
      SourceRange tail = expr.range;
      tail.begin = expr.args[0].range.end;
      body.world.unknown("loop variable", name, tail, body.visible());
      return unknown_value();
    }
    if (!variable->loop_dim) {
      const Fix fix = slice_in_the_notation(body, expr);
      Diagnostic& error =
          body.error("E0109", expr.range, "`" + name + "` is not a loop variable",
                     "an entry is taken at a loop's variable; `read` takes one at a number");
      error.fixes = {fix,
                     {"entries looked up are `index(\"[V] M, B -> B M\", x, ids)`", {}, false, ""}};
      if (!fix.edits.empty()) error.fixes.pop_back();
      return unknown_value();
    }
    const Binding copy = *variable;
    bool good = true;
    value = transform<ir::ValueId>(value, [&](ir::ValueId id) {
      if (id == ir::no_value || !good) return ir::no_value;
      const ir::ValueId result = entry(body, id, copy, expr.range, expr.args[0].range);
      good = result != ir::no_value;
      return result;
    });
  }
  return value;
}

Values boolean(Body& body, const syntax::Expr& expr) {
  const ir::ValueId zero = body.number("0", 0, expr.range);
  const auto fn = expr.text == "true" ? ir::BinaryFn::eq : ir::BinaryFn::ne;
  return tensor(body.emit(ir::Binary{fn}, {zero, zero}, {}, Dtype::boolean, expr.range));
}

Values operate(Body& body, const syntax::Expr& expr) {
  if (expr.text == "@") {
    const SourceRange between{expr.range.file, expr.args.at(0).range.end,
                              expr.args.at(1).range.begin};
    body.error("E0005", body.world.locate("@", between), "`@` is not part of the notation").fixes =
        product_in_the_notation(body, expr);
    return unknown_value();
  }
  std::vector<Argument> args;
  for (const syntax::Expr& arg : expr.args) args.push_back({body.one(arg), arg.range});
  if (args.size() == 1) return unary(body, expr.text, args[0], expr.range);
  return binary(body, expr.text, args.at(0), args.at(1), expr.range);
}

Values zeros_value(Body& body, const syntax::Expr& expr) {
  if (expr.type.empty()) return unknown_value();
  auto type = resolve_type(body.types(), expr.type[0]);
  return type ? zeros(body, *type, expr.range) : unknown_value();
}

/// Whether it may have several results.
bool calls(const syntax::Expr& expr) {
  using Kind = syntax::Expr::Kind;
  return expr.kind == Kind::call || expr.kind == Kind::cast || expr.kind == Kind::grad ||
         expr.kind == Kind::value_and_grad;
}

}  // namespace

Values Body::value(const syntax::Expr& expr) {
  using Kind = syntax::Expr::Kind;
  switch (expr.kind) {
    case Kind::number:
      return tensor(number(expr.text, std::strtod(expr.text.c_str(), nullptr), expr.range));
    case Kind::boolean:
      return boolean(*this, expr);
    case Kind::size:
      return size_value(*this, expr);
    case Kind::name:
      return name_value(*this, expr);
    case Kind::field:
      return field_value(*this, expr);
    case Kind::entry:
      return entry_value(*this, expr);
    case Kind::unary:
    case Kind::binary:
      return operate(*this, expr);
    case Kind::zeros:
      return zeros_value(*this, expr);
    case Kind::call:
    case Kind::cast:
    case Kind::grad:
    case Kind::value_and_grad:
    case Kind::string:
    case Kind::dtype:
      break;
  }
  error("E0109", expr.range, "this is not a value");
  return unknown_value();
}

std::vector<Values> Body::several(const syntax::Expr& expr) {
  if (!calls(expr)) return {value(expr)};
  using Kind = syntax::Expr::Kind;
  const bool gradients = expr.kind == Kind::grad || expr.kind == Kind::value_and_grad;
  return gradients ? gradient(*this, expr) : call(*this, expr);
}

Values Body::one(const syntax::Expr& expr) {
  if (!calls(expr)) return value(expr);
  std::vector<Values> values = several(expr);
  if (values.size() == 1) return std::move(values[0]);
  error("E0103", expr.range, std::to_string(values.size()) + " results where one value is expected",
        "give them names first: `a, b = ...`");
  return unknown_value();
}

std::vector<Values> Body::all(const std::vector<syntax::Expr>& exprs) {
  // `return f(x)` and `next each f(...)` may have several results.
  if (exprs.size() == 1) return several(exprs[0]);
  std::vector<Values> values;
  for (const syntax::Expr& expr : exprs) values.push_back(one(expr));
  return values;
}

}  // namespace shardproof::resolution
