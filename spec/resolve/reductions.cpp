// einsum, sum, max, min, argmax, top_k: ops that remove dims.
#include <algorithm>
#include <set>

#include "spec/resolve/meant.h"
#include "spec/resolve/patterns.h"
#include "spec/resolve/primitives.h"
#include "spec/resolve/regrouping.h"
#include "spec/resolve/sizes.h"

namespace shardproof::resolution {
namespace {

// The common dtype of all operands, which must be one that can be summed.
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
    if (other != dtype) {
      append(error.fixes, casts(body, read.ranges[i], dtype));
      append(error.fixes, casts(body, read.ranges[0], other));
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
  auto dtype = summed_dtype(body, site, *read);
  std::optional<Dtype> to;
  if (dtype) dtype = target(body, site, *dtype, to);
  auto op = elaborated(body, site, *read, ir::Einsum{std::move(read->pattern), to});
  if (!op || !dtype) return recovered(body, site, dtype);
  return {tensor(body.emit(std::move(*op), read->operands, *dtype, site.range, read->ranges))};
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
  auto op = elaborated(body, site, *read, ir::Reduce{fn, std::move(read->pattern), to});
  if (!op || !dtype) return recovered(body, site, dtype);
  return {tensor(body.emit(std::move(*op), read->operands, *dtype, site.range, read->ranges))};
}

std::vector<Values> argmax(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 1)) return recovered(body, site, Dtype::i32);
  auto read = read_pattern(body, site, 1, Right::required);
  if (!read) return recovered(body, site, Dtype::i32);
  align(body, *read, read->pattern.left[0]);
  const auto written = open_groups(body, site, *read, Works::drops_one);
  auto op = elaborated(body, site, *read, ir::Argmax{std::move(read->pattern)});
  if (!op || !summed_dtype(body, site, *read)) return recovered(body, site, Dtype::i32);
  const ir::ValueId id =
      body.emit(std::move(*op), read->operands, Dtype::i32, site.range, read->ranges);
  return {regrouped_as(body, site, id, written)};
}

// Adds `require |small| <= |large|`, unless both sizes are known and it holds.
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
  const auto written = open_groups(body, site, *read, Works::replaces_one);
  const Shape &left = read->pattern.left[0], &right = read->pattern.right;
  auto op = elaborated(body, site, *read, ir::TopK{read->pattern});
  auto dtype = summed_dtype(body, site, *read);
  if (!op || !dtype) return unknown_result(2);
  const ir::Indices& indices = ir::pattern_of(*op)->indices;
  size_t at = 0;
  while (indices.left[0].at(at) == indices.right[at]) ++at;
  at_most(body, right.dims[at].dim, left.dims[at].dim, site.range);
  Type type;
  static_cast<Shape&>(type) = right;
  type.dtype = *dtype;
  const ir::ValueId values = body.add_value(type, site.range);
  type.dtype = Dtype::i32;
  const ir::ValueId places = body.add_value(type, site.range);
  body.emit_to(std::move(*op), read->operands, {values, places}, site.range, read->ranges);
  return {regrouped_as(body, site, values, written), regrouped_as(body, site, places, written)};
}

}  // namespace

void add_reductions(Handlers& table) {
  table["einsum"] = einsum;
  table["sum"] = table["max"] = table["min"] = reduce;
  table["argmax"] = argmax;
  table["top_k"] = top_k;
}

}  // namespace shardproof::resolution
