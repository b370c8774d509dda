// read, write, concat: entries of one dim, in brackets.
#include "spec/resolve/patterns.h"
#include "spec/resolve/primitives.h"
#include "spec/resolve/regrouping.h"
#include "spec/resolve/sizes.h"

namespace shardproof::resolution {
namespace {

bool same_dtypes(Body& body, const CallSite& site, const Read& read) {
  const Dtype dtype = body.type(read.operands[0]).dtype;
  for (ir::ValueId id : read.operands) {
    if (body.type(id).dtype == dtype) continue;
    body.error(
        "E0104", site.range,
        "`" + site.name + "` of " + to_string(dtype) + " and " + to_string(body.type(id).dtype));
    return false;
  }
  return true;
}

// read of one operand, write of two: (.., at=).
template <class Op, size_t operands>
std::vector<Values> at_offset(Body& body, const CallSite& site) {
  if (!expect(body, site, operands, operands, {"at"})) return recovered(body, site);
  auto read = read_pattern(body, site, operands, Right::required, "left");
  const ir::ValueId at = offset_argument(body, site, "at");
  if (!read || at == ir::no_value) return recovered(body, site);
  align(body, *read, read->pattern.left[0]);
  const auto written = open_groups(body, site, *read, Works::bracket);
  const Dtype dtype = body.type(read->operands[0]).dtype;
  auto op = elaborated(body, site, *read, Op{std::move(read->pattern)});
  if (!op || !same_dtypes(body, site, *read)) return recovered(body, site, dtype);
  std::vector<ir::ValueId> from = read->operands;
  std::vector<SourceRange> ranges = read->ranges;
  from.push_back(at);
  ranges.push_back(site.named.at("at").range);
  const ir::ValueId id =
      body.emit(std::move(*op), std::move(from), dtype, site.range, std::move(ranges));
  return {regrouped_as(body, site, id, written)};
}

// The sizes of the parts must add up, if they are known.
bool adds_up(Body& body, const CallSite& site, const Read& read, const std::vector<Dim>& parts) {
  const ir::Program& program = body.world.program;
  ir::Arith sum = arith_number("0");
  for (const Dim& part : parts)
    sum = arith_op("+", {sum, part.factors.empty() ? arith_number("1") : program.size(part)});
  const ir::Arith whole = program.size(read.pattern.right.dims[*read.pattern.right_bracket].dim);
  if (!is_closed(sum) || !is_closed(whole)) return true;
  try {
    const double entries = ir::evaluate(sum, {}), size = ir::evaluate(whole, {});
    if (entries == size) return true;
    dims_error(
        body, site, read,
        "the operands have " + shortest(entries) + " entries, and the result " + shortest(size));
    return false;
  } catch (const std::exception&) {
    return true;  // reported where the size is declared
  }
}

std::vector<Values> concat(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 1000)) return recovered(body, site);
  auto read = read_pattern(body, site, site.args.size(), Right::required, "right");
  if (!read) return recovered(body, site);
  align(body, *read, read->pattern.left[0]);
  const auto written = open_groups(body, site, *read, Works::bracket);
  const ir::Pattern& pattern = read->pattern;
  const Dtype dtype = body.type(read->operands[0]).dtype;
  auto op = elaborated(body, site, *read, ir::Concat{pattern});
  if (!op) return recovered(body, site, dtype);
  std::vector<Dim> parts;
  for (const Shape& left : pattern.left)
    parts.push_back(left.dims.size() == pattern.right.dims.size()
                        ? left.dims[*pattern.right_bracket].dim
                        : Dim{});
  if (!same_dtypes(body, site, *read) || !adds_up(body, site, *read, parts))
    return recovered(body, site, dtype);
  const ir::ValueId id =
      body.emit(std::move(*op), read->operands, pattern.right, dtype, site.range, read->ranges);
  return {regrouped_as(body, site, id, written)};
}

}  // namespace

void add_slices(Handlers& table) {
  table["read"] = at_offset<ir::Read, 1>;
  table["write"] = at_offset<ir::Write, 2>;
  table["concat"] = concat;
}

}  // namespace shardproof::resolution
