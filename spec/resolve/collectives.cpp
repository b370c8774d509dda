// Collectives: both sides have the same dims; spec/check infers axes and marks. For a record the
// pattern names two layouts, and the op applies to each field. Also total(r).
#include "spec/resolve/patterns.h"
#include "spec/resolve/primitives.h"
#include "spec/resolve/regrouping.h"

namespace shardproof::resolution {
namespace {

const std::map<Name, ir::CollectiveFn, ByName> functions = {
    {"all_gather", ir::CollectiveFn::all_gather},
    {"all_reduce", ir::CollectiveFn::all_reduce},
    {"psum_scatter", ir::CollectiveFn::psum_scatter},
    {"reduce_scatter", ir::CollectiveFn::psum_scatter},
    {"all_to_all", ir::CollectiveFn::all_to_all},
    {"slice", ir::CollectiveFn::slice},
    {"fan_out", ir::CollectiveFn::fan_out},
    {"zero_nonroot", ir::CollectiveFn::zero_nonroot},
    {"zero_pad", ir::CollectiveFn::zero_pad}};

bool allowed(Body& body, const CallSite& site) {
  if (body.scope->is_plan) return true;
  Diagnostic& error = body.error("E0109", site.range, "a fn has no collectives",
                                 "a fn is mathematics on whole tensors");
  if (site.args.size() == 1 && site.range.file >= 0 && site.args[0].range.file >= 0)
    error.fixes.push_back({"write its operand: a whole tensor needs no `" + site.name + "`",
                           {{site.range, std::string(body.world.sources.text(site.args[0].range))}},
                           false,
                           ""});
  return false;
}

// One side of a record's pattern: `FfnShards`, `W{U_d}`, `Layer[N/p]`.
std::optional<Types> layout_side(Body& body, const syntax::OperandExpr& side) {
  syntax::TypeExpr type;
  type.name = side.type_name;
  type.dims = side.dims;
  type.marks = side.marks;
  type.range = side.range;
  if (type.name.empty()) {
    if (side.dims.size() != 1 || side.dims[0].names.size() != 1 || !side.dims[0].axes.empty()) {
      body.error("E0305", side.range,
                 "the operand is a record: the pattern names two layouts of it");
      return std::nullopt;
    }
    type.name = side.dims[0].names[0];
    type.dims.clear();
  }
  type.has_dims = !type.dims.empty();
  return resolve_type(body.types(), type);
}

// `all_reduce("-> Shards", g)`: the left side is empty and means the operand's type.
bool left_is_operands(const Body& body, const CallSite& site) {
  if (site.name != "all_reduce" || !site.pattern || body.inferred()) return false;
  const syntax::PatternExpr& pattern = *site.pattern;
  return pattern.right && pattern.left.size() == 1 && pattern.left[0].type_name.empty() &&
         pattern.left[0].dims.empty() && pattern.left[0].marks.empty();
}

// Reduces over all axes that are unreduced in the operand but not in `to`; spec/check finds them.
ir::ValueId reduced_to(Body& body, const CallSite& site, ir::ValueId id, const Shape& to,
                       ir::Applied applied) {
  if (id == ir::no_value) return id;
  const Type actual = body.type(id);
  if (!same_dims(actual, to)) {
    Diagnostic& error =
        body.error("E0305", site.pattern_range,
                   "the result is `" + dims_text(to) + "`, and " +
                       (applied == ir::Applied::to_tensor ? "the operand" : "the operand's field") +
                       " is `" + dims_text(actual) + "`",
                   "all_reduce keeps the dims of its operand");
    error.types = {to_string(actual)};
    return ir::no_value;
  }
  ir::Collective reduced{ir::CollectiveFn::all_reduce, {}, applied};
  Shape from;
  for (const Split& split : actual.dims) from.dims.push_back({split.dim, {}});
  reduced.pattern.left = {from};
  reduced.pattern.left_inferred = true;
  reduced.pattern.right = to;
  Read read;
  read.operands = {id};
  auto op = elaborated(body, site, read, std::move(reduced));
  if (!op) return ir::no_value;
  return body.emit(std::move(*op), {id}, to, actual.dtype, site.range, {site.args[0].range});
}

std::vector<Values> tensor_reduced_to(Body& body, const CallSite& site) {
  const ir::ValueId id = tensor_of(body, site.args[0], "`all_reduce`");
  std::optional<size_t> bracket;
  const auto to = read_operand(body, *site.pattern->right, &bracket);
  if (id == ir::no_value || !to) return recovered(body, site);
  if (bracket) {
    body.error("E0305", site.pattern_range, "all_reduce has no dim in brackets");
    return recovered(body, site);
  }
  const ir::ValueId result = reduced_to(body, site, id, *to, ir::Applied::to_tensor);
  if (result == ir::no_value) return recovered(body, site);
  return {tensor(result)};
}

std::vector<Values> record_reduced_to(Body& body, const CallSite& site) {
  const Values& record = site.args[0].values;
  const auto to = layout_side(body, *site.pattern->right);
  if (!to) return unknown_result();
  if (to->record != record.record) {
    body.error("E0305", site.pattern_range,
               "the right side of `->` is another layout of the operand's record");
    return unknown_result();
  }
  const std::vector<Type> right = leaves(*to);
  size_t next = 0;
  return {transform<ir::ValueId>(record, [&](ir::ValueId id) {
    const Type& type = right[next++];
    return reduced_to(body, site, id, type,
                      next == right.size() ? ir::Applied::to_last_field : ir::Applied::to_field);
  })};
}

// One field: the collective, or the value itself if both sides have the same type.
ir::ValueId field(Body& body, const CallSite& site, ir::ValueId id, const Type& from,
                  const Type& to) {
  if (id == ir::no_value) return id;
  const SourceRange range = site.args[0].range;
  const Type actual = body.type(id);
  if (!same_dims(actual, from) || !same_dims(from, to)) {
    Diagnostic& error =
        body.error("E0305", site.pattern_range,
                   "a field is `" + dims_text(from) + "` on the left, `" + dims_text(to) +
                       "` on the right, and `" + dims_text(actual) + "` in the operand");
    error.types = {to_string(actual)};
    return ir::no_value;
  }
  if (static_cast<const Shape&>(from) == static_cast<const Shape&>(to)) {
    Type stated = from;
    stated.dtype = actual.dtype;
    return body.emit(ir::Ascribe{stated, true}, {id}, actual, actual.dtype, site.range, {range});
  }
  ir::Collective gathered{functions.at(site.name), {}, ir::Applied::to_field};
  gathered.pattern.left = {from};
  gathered.pattern.right = to;
  Read read;
  read.operands = {id};
  auto op = elaborated(body, site, read, std::move(gathered));
  if (!op) return ir::no_value;
  return body.emit(std::move(*op), {id}, to, actual.dtype, site.range, {range});
}

// Tells that the pattern of a record is that of a tensor, with what to write for all its fields.
bool is_of_tensor(Body& body, const CallSite& site) {
  const auto of_layout = [&](const syntax::OperandExpr& side) {
    if (!side.type_name.empty()) return true;
    return side.dims.size() == 1 && side.dims[0].names.size() == 1 &&
           body.file().records.contains(side.dims[0].names[0]);
  };
  const syntax::PatternExpr& pattern = *site.pattern;
  if (of_layout(pattern.left[0]) && of_layout(*pattern.right)) return false;
  Diagnostic& error = body.error("E0305", site.pattern_range,
                                 "the operand is a record: the pattern names layouts of it");
  if (site.name != "all_reduce") return true;
  const Name& record = body.world.records.at(site.args[0].values.record).name;
  for (const auto& [name, index] : body.file().records)
    if (const RecordEntity& entity = body.world.records[index];
        entity.layout && entity.layout->record == record)
      error.fixes.push_back(
          {"each field as in `" + name + "`", {{site.pattern_range, "-> " + name}}, false, ""});
  return true;
}

std::vector<Values> of_record(Body& body, const CallSite& site) {
  const Values& record = site.args[0].values;
  if (!site.pattern) {
    if (!site.has_pattern) body.error("E0103", site.range, "`" + site.name + "` needs a pattern");
    return unknown_result();
  }
  if (site.pattern->left.size() != 1 || !site.pattern->right) {
    body.error("E0305", site.pattern_range,
               "of a record the pattern names two layouts: `Shards -> Model`");
    return unknown_result();
  }
  if (is_of_tensor(body, site)) return unknown_result();
  auto from = layout_side(body, site.pattern->left[0]);
  auto to = layout_side(body, *site.pattern->right);
  if (!from || !to) return unknown_result();
  if (from->record != record.record || to->record != record.record) {
    const Types actual = transform<Type>(
        record, [&](ir::ValueId id) { return id == ir::no_value ? Type{} : body.type(id); });
    body.error("E0305", site.pattern_range,
               "both sides are layouts of the operand's record, and the operand is " +
                   describe(body.world, actual));
    return unknown_result();
  }
  const std::vector<Type> left = leaves(*from), right = leaves(*to);
  size_t next = 0;
  return {transform<ir::ValueId>(record, [&](ir::ValueId id) {
    const size_t i = next++;
    return field(body, site, id, left[i], right[i]);
  })};
}

std::vector<Values> collective(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 1) || !allowed(body, site)) return recovered(body, site);
  const bool record = site.args[0].values.is_record();
  if (left_is_operands(body, site)) {
    if (record) return record_reduced_to(body, site);
    if (site.args[0].values.leaf != ir::no_value &&
        !body.type(site.args[0].values.leaf).dims.empty())
      return tensor_reduced_to(body, site);
  }
  if (record) return of_record(body, site);
  auto read = read_pattern(body, site, 1, Right::required);
  if (!read) return recovered(body, site);
  const auto written = open_groups(body, site, *read, Works::elementwise);
  const Dtype dtype = body.type(read->operands[0]).dtype;
  auto op = elaborated(body, site, *read,
                       ir::Collective{functions.at(site.name), std::move(read->pattern)});
  if (!op) return recovered(body, site, dtype);
  const ir::ValueId id =
      body.emit(std::move(*op), std::move(read->operands), dtype, site.range, read->ranges);
  return {regrouped_as(body, site, id, written)};
}

std::optional<Marks> total_marks(Body& body, const CallSite& site) {
  if (!site.has_pattern) return Marks{};
  if (!site.pattern) return std::nullopt;
  const syntax::PatternExpr& pattern = *site.pattern;
  const bool marks_only =
      !pattern.right && pattern.left.size() == 1 && pattern.left[0].dims.empty();
  if (!marks_only) {
    body.error("E0305", site.pattern_range, "the pattern of `total` is marks: `{U_d U_t}`");
    return std::nullopt;
  }
  std::optional<size_t> bracket;
  auto shape = read_operand(body, pattern.left[0], &bracket);
  if (!shape) return std::nullopt;
  return shape->marks;
}

std::vector<Values> total(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 1)) return unknown_result();
  const Values& record = site.args[0].values;
  auto marks = total_marks(body, site);
  const std::vector<ir::ValueId> ids = leaves(record);
  if (!marks || is_unknown(record) || ids.empty()) return unknown_result();
  const Dtype dtype = body.type(ids[0]).dtype;
  for (ir::ValueId id : ids) {
    const Type& type = body.type(id);
    if (type.dims.empty() && type.dtype == dtype && (is_float(dtype) || is_integer(dtype)))
      continue;
    Diagnostic& error =
        body.error(type.dims.empty() ? "E0104" : "E0305", site.range,
                   "`total` adds scalars of one dtype, and a field is " + to_string(type));
    if (!type.dims.empty() && !body.scope->instance) {
      const SourceRange range = site.args[0].range;
      const std::string squares = "each sumsq(" + std::string(body.world.sources.text(range)) + ")";
      error.fixes.push_back({"make each field a scalar first, as `" + squares + "` does",
                             {{range, squares}},
                             false,
                             ""});
    }
    return unknown_result();
  }
  const std::vector<SourceRange> ranges(ids.size(), site.args[0].range);
  return {tensor(body.emit(ir::Total{*marks}, ids, {}, dtype, site.range, ranges))};
}

}  // namespace

void add_collectives(Handlers& table) {
  for (const auto& [name, unused] : functions) table[name] = collective;
  table["total"] = total;
}

}  // namespace shardproof::resolution
