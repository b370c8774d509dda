#include "spec/resolve/numbers.h"

#include <cstdlib>

#include "spec/resolve/constants.h"

namespace shardproof::resolution {
namespace {

// The sizes in `|name|`: factors of a dim, or one axis. Empty after an error.
std::vector<ir::SizeOf> sizes_of(Body& body, const syntax::Expr& expr) {
  const Name& name = expr.text;
  std::vector<ir::SizeOf> result;
  if (auto local = body.scope->dims.find(name); local != body.scope->dims.end()) {
    for (const Name& factor : local->second.factors) result.push_back({factor, false});
    return result;
  }
  if (body.file().dims.count(name)) return {{name, false}};
  if (body.file().axes.count(name)) {
    if (body.scope->is_plan) return {{name, true}};
    body.error("E0109", expr.range, "a fn has no axes, and no size of one",
               "a fn is mathematics on whole tensors")
        .fixes.push_back({"a result cannot depend on the number of devices: write a number, or the "
                          "size of a dim; a plan may name `|" +
                              name + "|`",
                          {},
                          false,
                          ""});
    return {};
  }
  std::vector<Name> known = keys(body.file().dims);
  for (const auto& more : {keys(body.file().axes), keys(body.scope->dims)})
    known.insert(known.end(), more.begin(), more.end());
  body.world.unknown("dim or axis", name, expr.range, known);
  return {};
}

ir::Arith reference(const ir::SizeOf& size) {
  if (is_number(size.name)) return arith_number(size.name);
  return {size.axis ? ir::Arith::Kind::axis : ir::Arith::Kind::size, size.name, ir::no_value, {}};
}

}  // namespace

ArithNames names_in(Body& body) {
  ArithNames names;
  names.size = [&body](const syntax::Expr& expr) -> std::optional<ir::Arith> {
    if (is_number(expr.text)) return arith_number(expr.text);
    const std::vector<ir::SizeOf> sizes = sizes_of(body, expr);
    if (sizes.empty()) return std::nullopt;
    ir::Arith result = reference(sizes[0]);
    for (size_t i = 1; i < sizes.size(); ++i)
      result = arith_op("*", {std::move(result), reference(sizes[i])});
    return result;
  };
  names.name = [&body](const syntax::Expr& expr) -> std::optional<ir::Arith> {
    if (expr.kind == syntax::Expr::Kind::name && !body.find(expr.text))
      if (auto found = body.file().consts.find(expr.text); found != body.file().consts.end())
        return arith_of(found->second);
    const Values value = body.one(expr);
    if (is_unknown(value)) return std::nullopt;
    if (value.is_record() || !body.type(value.leaf).dims.empty()) {
      body.error("E0109", expr.range, "a condition must be about scalars");
      return std::nullopt;
    }
    if (auto text = body.literal_text(value.leaf)) return arith_number(*text);
    return ir::Arith{ir::Arith::Kind::value, body.function.values[value.leaf].name, value.leaf, {}};
  };
  return names;
}

Values size_value(Body& body, const syntax::Expr& expr) {
  const std::vector<ir::SizeOf> sizes = sizes_of(body, expr);
  ir::ValueId result = ir::no_value;
  for (const ir::SizeOf& size : sizes) {
    const ir::ValueId factor =
        is_number(size.name)
            ? body.number(size.name, std::strtod(size.name.c_str(), nullptr), expr.range)
            : body.emit(size, {}, {}, Dtype::number, expr.range);
    result = result == ir::no_value
                 ? factor
                 : body.emit(ir::Binary{ir::BinaryFn::mul}, {result, factor}, {}, Dtype::number,
                             expr.range, {expr.range, expr.range});
  }
  return tensor(result);
}

}  // namespace shardproof::resolution
