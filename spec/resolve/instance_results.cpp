// Inlines the body of a generic function at one call, and orders the dims of its results.
#include "spec/resolve/instances.h"

#include <algorithm>
#include <utility>

#include "spec/resolve/calls.h"
#include "spec/resolve/patterns.h"
#include "spec/resolve/primitives.h"

namespace shardproof::resolution {

std::vector<Values> Instantiation::body_results() {
  FunctionScope scope;
  scope.file = entity_.file;
  scope.instance = &instance_;
  scope.caller = body_.scope;
  scope.function = entity_.decl->name;
  scope.dims = dims_;
  FunctionScope* caller = std::exchange(body_.scope, &scope);
  LoopScope* loop = std::exchange(body_.loop, nullptr);
  for (size_t i = 0; i < args_.size(); ++i)
    body_.bind(entity_.params[i].name, args_[i], given_[i]->range);
  body_.statements(entity_.decl->body);
  std::vector<Values> results = ordered(scope);
  body_.scope = caller;
  body_.loop = loop;
  return results;
}

std::vector<Values> Instantiation::ordered(const FunctionScope& scope) {
  if (scope.returned.size() != entity_.results.size()) {
    body_.error("E0103", entity_.decl->name_range,
                "`" + site_.name + "` returns " + std::to_string(scope.returned.size()) + " of " +
                    std::to_string(entity_.results.size()) + " results");
    return unknown_result(entity_.results.size());
  }
  std::vector<Values> results;
  for (size_t i = 0; i < scope.returned.size(); ++i)
    results.push_back(is_unknown(scope.returned[i])
                          ? unknown_value()
                          : result(scope.returned[i], *entity_.written_results[i]));
  return results;
}

// The result has the signature's dims, in the order of the first argument that has all of them.
Values Instantiation::result(const Values& value, const syntax::TypeExpr& written) {
  auto type = resolve_type(body_.types(), written);
  if (!type) return unknown_value();
  if (type->is_record() || value.is_record())
    return fit(body_, value, *type, entity_.decl->name_range, {"E0302", "E0302", "the result"});
  Shape wanted = type->leaf;
  for (ir::ValueId argument : instance_.arguments) {
    const Type& candidate = body_.type(argument);
    const bool all = std::all_of(wanted.dims.begin(), wanted.dims.end(), [&](const Split& split) {
      return find(candidate, split.dim) != nullptr;
    });
    if (!all) continue;
    Shape order;
    for (const Split& split : candidate.dims)
      if (find(wanted, split.dim)) order.dims.push_back({split.dim, {}});
    wanted.dims = order.dims;
    break;
  }
  return tensor(in_order(value.leaf, wanted, type->leaf));
}

ir::ValueId Instantiation::in_order(ir::ValueId id, const Shape& wanted, const Type& type) {
  const Type actual = body_.type(id);
  const SourceRange range = entity_.decl->name_range;
  if (actual.dtype == Dtype::number && wanted.dims.empty()) {
    return body_.emit(ir::Cast{type.dtype, std::nullopt}, {id}, {}, type.dtype, range, {range});
  }
  const bool same = std::is_permutation(
      actual.dims.begin(), actual.dims.end(), wanted.dims.begin(), wanted.dims.end(),
      [](const Split& a, const Split& b) { return a.dim == b.dim; });
  if (!same || actual.dtype != type.dtype) {
    body_.error(same ? "E0104" : "E0302", range,
                "the result of `" + site_.name + "` is " + to_string(actual) +
                    ", and its signature says " + to_string(type));
    return ir::no_value;
  }
  if (same_dims(actual, wanted)) return id;
  return reordered(id, wanted, instance_.whole, range);
}

// Reorders the positions of a value.
ir::ValueId Instantiation::reordered(ir::ValueId id, const Shape& wanted, std::vector<Dim> whole,
                                     SourceRange range) {
  const Type actual = body_.type(id);
  ir::Rearrange rearranged;
  rearranged.pattern.left = {actual};
  rearranged.pattern.right = wanted;
  rearranged.pattern.inferred = true;
  rearranged.pattern.whole = std::move(whole);
  Read read;
  read.operands = {id};
  auto op = elaborated(body_, site_, read, std::move(rearranged));
  if (!op) return ir::no_value;
  return body_.emit(std::move(*op), {id}, wanted, actual.dtype, range, {range});
}

// `-> ...` at the call: reorders the result, then states its type.
std::vector<Values> Instantiation::stated_result(std::vector<Values> results) {
  if (!site_.pattern || !site_.pattern->right) return results;
  std::optional<size_t> bracket;
  auto shape = read_operand(body_, *site_.pattern->right, &bracket);
  if (!shape || results.size() != 1 || results[0].is_record() || is_unknown(results[0])) {
    if (results.size() != 1)
      body_.error("E0103", site_.pattern_range, "the pattern states one result");
    return results;
  }
  const Type actual = body_.type(results[0].leaf);
  Shape order;
  for (const Split& split : shape->dims)
    for (const Split& own : actual.dims)
      if (own.dim == split.dim || (!find(*shape, own.dim) && !find(actual, split.dim) &&
                                   body_.world.program.same_dim(own.dim, split.dim)))
        if (!find(order, own.dim)) {
          order.dims.push_back({own.dim, {}});
          break;
        }
  if (order.dims.size() != actual.dims.size() || order.dims.size() != shape->dims.size()) {
    Diagnostic& error = body_.error("E0305", site_.pattern_range,
                                    "the result has the dims `" + dims_text(actual) + "`");
    error.types = {to_string(actual)};
    return recovered(body_, site_, actual.dtype);
  }
  ir::ValueId id = results[0].leaf;
  if (!same_dims(actual, order)) id = reordered(id, order, {}, site_.range);
  if (body_.inferred()) return {tensor(id)};
  Type stated;
  static_cast<Shape&>(stated) = *shape;
  stated.dtype = actual.dtype;
  return {tensor(body_.emit(ir::Ascribe{stated, true}, {id}, stated, stated.dtype, site_.range,
                            {site_.range}))};
}

}  // namespace shardproof::resolution
