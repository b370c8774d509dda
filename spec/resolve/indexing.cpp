// index, index_unreduced, index_add: rows chosen by ids.
#include "spec/resolve/patterns.h"
#include "spec/resolve/primitives.h"

namespace shardproof::resolution {
namespace {

bool are_ids(Body& body, const CallSite& site, ir::ValueId ids, size_t position) {
  if (body.type(ids).dtype == Dtype::i32) return true;
  body.error("E0104", site.args[position].range,
             std::string("ids are i32, and these are ") + to_string(body.type(ids).dtype));
  return false;
}

std::vector<Values> index(Body& body, const CallSite& site) {
  if (!expect(body, site, 2, 2)) return recovered(body, site);
  auto read = read_pattern(body, site, 2, Right::required, "left");
  if (!read) return recovered(body, site);
  const ir::Pattern& pattern = read->pattern;
  const Dtype dtype = body.type(read->operands[0]).dtype;
  if (pattern.bracket_operand != 0) {
    dims_error(body, site, *read, "the dim in brackets is the table's");
    return recovered(body, site, dtype);
  }
  const Shape &table = pattern.left[0], &ids = pattern.left[1];
  const Dim& rows = table.dims[*pattern.left_bracket].dim;
  // The result has every dim of either but the rows, once.
  size_t wanted = ids.dims.size();
  for (const Split& split : table.dims) wanted += split.dim == rows || find(ids, split.dim) ? 0 : 1;
  bool good = !find(ids, rows) && pattern.right.dims.size() == wanted;
  for (size_t i = 0; good && i < pattern.right.dims.size(); ++i) {
    const Dim& dim = pattern.right.dims[i].dim;
    good = dim != rows && (find(table, dim) || find(ids, dim)) && position(pattern.right, dim) == i;
  }
  if (!good)
    dims_error(
        body, site, *read,
        "the result has the dims of the ids and those of the table but for the one in brackets");
  if (!are_ids(body, site, read->operands[1], 1) || !good) return recovered(body, site, dtype);
  ir::Op op =
      site.name == "index" ? ir::Op(ir::Index{pattern}) : ir::Op(ir::IndexUnreduced{pattern});
  return {tensor(
      body.emit(std::move(op), read->operands, pattern.right, dtype, site.range, read->ranges))};
}

std::vector<Values> index_add(Body& body, const CallSite& site) {
  if (!expect(body, site, 2, 2)) return recovered(body, site);
  auto read = read_pattern(body, site, 2, Right::required, "right");
  if (!read) return recovered(body, site);
  const ir::Pattern& pattern = read->pattern;
  const Dtype dtype = body.type(read->operands[1]).dtype;
  const Shape &ids = pattern.left[0], &x = pattern.left[1];
  bool good = true;
  for (size_t i = 0; i < pattern.right.dims.size(); ++i) {
    const Dim& dim = pattern.right.dims[i].dim;
    const bool old = find(ids, dim) || find(x, dim);
    good = good && old != (i == *pattern.right_bracket) && position(pattern.right, dim) == i;
  }
  for (const Split& split : ids.dims) good = good && find(x, split.dim);
  if (!good)
    dims_error(body, site, *read,
               "x has the dims of the ids; the result has the dim in brackets, and others of x");
  if (!is_float(dtype) && !is_integer(dtype)) {
    body.error("E0104", site.range, std::string("`index_add` of ") + to_string(dtype));
    good = false;
  }
  if (!are_ids(body, site, read->operands[0], 0) || !good) return recovered(body, site, dtype);
  return {tensor(body.emit(ir::IndexAdd{pattern}, read->operands, pattern.right, dtype, site.range,
                           read->ranges))};
}

}  // namespace

void add_indexing(std::map<Name, Handler>& table) {
  table["index"] = table["index_unreduced"] = index;
  table["index_add"] = index_add;
}

}  // namespace shardproof::resolution
