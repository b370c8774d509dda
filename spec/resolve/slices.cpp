// read, write, concat: entries of one dim, in brackets.
#include "spec/resolve/patterns.h"
#include "spec/resolve/primitives.h"
#include "spec/resolve/sizes.h"

namespace shardproof::resolution {
namespace {

// What stands in `part` where `whole` has the dim at `bracket`: nothing (an empty dim), or another
// dim; nullopt when the other dims are not the same.
std::optional<Dim> in_place(const Shape& whole, size_t bracket, const Shape& part) {
  const Shape rest = without(whole, bracket);
  if (same_dims(rest, part)) return Dim{};
  if (part.dims.size() != whole.dims.size() || bracket >= part.dims.size()) return std::nullopt;
  if (!same_dims(rest, without(part, bracket))) return std::nullopt;
  return part.dims[bracket].dim;
}

std::vector<Values> read(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 1, {"at"})) return recovered(body, site);
  auto read = read_pattern(body, site, 1, Right::required, "left");
  const ir::ValueId at = offset_argument(body, site, "at");
  if (!read || at == ir::no_value) return recovered(body, site);
  align(body, *read, read->pattern.left[0]);
  const ir::Pattern& pattern = read->pattern;
  const Dtype dtype = body.type(read->operands[0]).dtype;
  auto part = in_place(pattern.left[0], *pattern.left_bracket, pattern.right);
  if (!part || *part == pattern.left[0].dims[*pattern.left_bracket].dim) {
    dims_error(body, site, *read,
               "the dim in brackets gives way to nothing or to another dim in its place");
    return recovered(body, site, dtype);
  }
  return {tensor(body.emit(ir::Read{pattern}, {read->operands[0], at}, pattern.right, dtype,
                           site.range, {read->ranges[0], site.named.at("at").range}))};
}

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

std::vector<Values> write(Body& body, const CallSite& site) {
  if (!expect(body, site, 2, 2, {"at"})) return recovered(body, site);
  auto read = read_pattern(body, site, 2, Right::required, "left");
  const ir::ValueId at = offset_argument(body, site, "at");
  if (!read || at == ir::no_value) return recovered(body, site);
  align(body, *read, read->pattern.left[0]);
  const ir::Pattern& pattern = read->pattern;
  const Dtype dtype = body.type(read->operands[0]).dtype;
  const bool good = pattern.bracket_operand == 0 && same_dims(pattern.left[0], pattern.right) &&
                    in_place(pattern.left[0], *pattern.left_bracket, pattern.left[1]);
  if (!good)
    dims_error(
        body, site, *read,
        "the second operand has the first's dims, without the one in brackets or with another in "
        "its place; the result has the first's");
  if (!good || !same_dtypes(body, site, *read)) return recovered(body, site, dtype);
  return {tensor(body.emit(ir::Write{pattern}, {read->operands[0], read->operands[1], at},
                           pattern.right, dtype, site.range,
                           {read->ranges[0], read->ranges[1], site.named.at("at").range}))};
}

// The entries must add up, where the sizes are known.
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
    return true;  // told where the size is declared
  }
}

std::vector<Values> concat(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 1000)) return recovered(body, site);
  auto read = read_pattern(body, site, site.args.size(), Right::required, "right");
  if (!read) return recovered(body, site);
  align(body, *read, read->pattern.left[0]);
  const ir::Pattern& pattern = read->pattern;
  const Dtype dtype = body.type(read->operands[0]).dtype;
  std::vector<Dim> parts;
  for (const Shape& left : pattern.left) {
    auto part = in_place(pattern.right, *pattern.right_bracket, left);
    if (!part) {
      dims_error(body, site, *read,
                 "each operand has the result's dims, without the one in brackets or with another "
                 "in its place");
      return recovered(body, site, dtype);
    }
    parts.push_back(*part);
  }
  if (!same_dtypes(body, site, *read) || !adds_up(body, site, *read, parts))
    return recovered(body, site, dtype);
  return {tensor(body.emit(ir::Concat{pattern}, read->operands, pattern.right, dtype, site.range,
                           read->ranges))};
}

}  // namespace

void add_slices(std::map<Name, Handler>& table) {
  table["read"] = read;
  table["write"] = write;
  table["concat"] = concat;
}

}  // namespace shardproof::resolution
