// einsum, sum, max, min, argmax, top_k: dims that vanish.
#include <algorithm>
#include <set>

#include "spec/resolve/patterns.h"
#include "spec/resolve/primitives.h"
#include "spec/resolve/sizes.h"

namespace shardproof::resolution {
namespace {

std::optional<Dim> repeated(const Shape& shape) {
  for (size_t i = 0; i < shape.dims.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (shape.dims[i].dim == shape.dims[j].dim) return shape.dims[i].dim;
  return std::nullopt;
}

bool any_has(const std::vector<Shape>& shapes, const Dim& dim) {
  return std::any_of(shapes.begin(), shapes.end(),
                     [&](const Shape& shape) { return find(shape, dim) != nullptr; });
}

// All operands of one dtype that may be added up.
std::optional<Dtype> summed_dtype(Body& body, const CallSite& site, const Read& read) {
  const Dtype dtype = body.type(read.operands.at(0)).dtype;
  for (size_t i = 0; i < read.operands.size(); ++i) {
    const Dtype other = body.type(read.operands[i]).dtype;
    if (other == dtype && (is_float(dtype) || is_integer(dtype))) continue;
    const std::string names = other == dtype
                                  ? std::string(to_string(dtype))
                                  : std::string(to_string(dtype)) + " and " + to_string(other);
    Diagnostic& error = body.error("E0104", site.range, "`" + site.name + "` of " + names,
                                   "the operands need one dtype of numbers");
    if (other != dtype && !body.inferred()) {
      const std::string cast = std::string(to_string(dtype)) + "(" +
                               std::string(body.world.sources.text(read.ranges[i])) + ")";
      error.fixes.push_back({"cast: `" + cast + "`", {{read.ranges[i], cast}}, false, ""});
    }
    return std::nullopt;
  }
  return dtype;
}

std::optional<Dtype> target(Body& body, const CallSite& site, Dtype dtype,
                            std::optional<Dtype>& to) {
  to = dtype_argument(site, "to");
  if (!site.named.count("to")) return dtype;
  if (to && is_float(*to) == is_float(dtype) && *to != Dtype::boolean && *to != Dtype::key)
    return *to;
  body.error("E0104", site.named.at("to").range, "`to=` names a dtype of the same kind");
  return std::nullopt;
}

std::vector<Values> einsum(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 100, {"to"})) return recovered(body, site);
  auto read = read_pattern(body, site, site.args.size(), Right::required);
  if (!read) return recovered(body, site, dtype_argument(site, "to"));
  const ir::Pattern& pattern = read->pattern;
  std::optional<Dim> twice = repeated(pattern.right);
  for (const Shape& left : pattern.left) twice = twice ? twice : repeated(left);
  if (twice) dims_error(body, site, *read, "`" + to_string(*twice) + "` twice in one operand");
  for (const Split& split : pattern.right.dims)
    if (!any_has(pattern.left, split.dim)) {
      dims_error(body, site, *read,
                 "no operand has the result's dim `" + to_string(split.dim) + "`");
      twice = split.dim;
    }
  auto dtype = summed_dtype(body, site, *read);
  std::optional<Dtype> to;
  if (dtype) dtype = target(body, site, *dtype, to);
  if (twice || !dtype) return recovered(body, site, dtype);
  return {tensor(body.emit(ir::Einsum{pattern, to}, read->operands, pattern.right, *dtype,
                           site.range, read->ranges))};
}

// The right side is the left without some of its dims.
bool drops(const Shape& left, const Shape& right) {
  size_t next = 0;
  for (const Split& split : left.dims)
    if (next < right.dims.size() && right.dims[next].dim == split.dim) ++next;
  return next == right.dims.size();
}

std::vector<Values> reduce(Body& body, const CallSite& site) {
  const ir::ReduceFn fn = site.name == "sum"   ? ir::ReduceFn::sum
                          : site.name == "max" ? ir::ReduceFn::max
                                               : ir::ReduceFn::min;
  std::vector<Name> keywords;
  if (fn == ir::ReduceFn::sum) keywords = {"to"};
  if (!expect(body, site, 1, 1, keywords)) return recovered(body, site);
  auto read = read_pattern(body, site, 1, Right::required);
  if (!read) return recovered(body, site);
  align(body, *read, read->pattern.left[0]);
  auto dtype = summed_dtype(body, site, *read);
  std::optional<Dtype> to;
  if (dtype) dtype = target(body, site, *dtype, to);
  const bool good = drops(read->pattern.left[0], read->pattern.right);
  if (!good)
    dims_error(body, site, *read,
               "the result has the operand's dims but for those that vanish, in their order");
  if (!good || !dtype) return recovered(body, site, dtype);
  return {tensor(body.emit(ir::Reduce{fn, read->pattern, to}, read->operands, read->pattern.right,
                           *dtype, site.range, read->ranges))};
}

std::vector<Values> argmax(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 1)) return recovered(body, site, Dtype::i32);
  auto read = read_pattern(body, site, 1, Right::required);
  if (!read) return recovered(body, site, Dtype::i32);
  align(body, *read, read->pattern.left[0]);
  const ir::Pattern& pattern = read->pattern;
  if (!drops(pattern.left[0], pattern.right) ||
      pattern.right.dims.size() + 1 != pattern.left[0].dims.size()) {
    dims_error(body, site, *read, "exactly one dim vanishes");
    return recovered(body, site, Dtype::i32);
  }
  if (!summed_dtype(body, site, *read)) return recovered(body, site, Dtype::i32);
  return {tensor(body.emit(ir::Argmax{pattern}, read->operands, pattern.right, Dtype::i32,
                           site.range, read->ranges))};
}

// `require |small| <= |large|`, unless both are known and it holds.
void at_most(Body& body, const Dim& small, const Dim& large, SourceRange range) {
  const ir::Program& program = body.world.program;
  ir::Arith condition = arith_op("<=", {program.size(small), program.size(large)});
  if (is_closed(condition) && ir::evaluate(condition, {}) != 0) return;
  body.block->requirements.push_back({std::move(condition), body.located(range)});
}

std::vector<Values> top_k(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 1)) return unknown_result(2);
  auto read = read_pattern(body, site, 1, Right::required);
  if (!read) return unknown_result(2);
  align(body, *read, read->pattern.left[0]);
  const Shape &left = read->pattern.left[0], &right = read->pattern.right;
  size_t changed = left.dims.size() == right.dims.size() ? 0 : 2;
  size_t at = 0;
  for (size_t i = 0; changed < 2 && i < left.dims.size(); ++i)
    if (!(left.dims[i].dim == right.dims[i].dim)) ++changed, at = i;
  auto dtype = summed_dtype(body, site, *read);
  if (changed != 1)
    dims_error(body, site, *read, "exactly one dim gives way to the dim of the largest");
  if (changed != 1 || !dtype) return unknown_result(2);
  at_most(body, right.dims[at].dim, left.dims[at].dim, site.range);
  Type type;
  static_cast<Shape&>(type) = right;
  type.dtype = *dtype;
  const ir::ValueId values = body.add_value(type, site.range);
  type.dtype = Dtype::i32;
  const ir::ValueId indices = body.add_value(type, site.range);
  body.emit_to(ir::TopK{read->pattern}, read->operands, {values, indices}, site.range,
               read->ranges);
  return {tensor(values), tensor(indices)};
}

}  // namespace

void add_reductions(std::map<Name, Handler>& table) {
  table["einsum"] = einsum;
  table["sum"] = table["max"] = table["min"] = reduce;
  table["argmax"] = argmax;
  table["top_k"] = top_k;
}

}  // namespace shardproof::resolution
