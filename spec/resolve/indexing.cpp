// index, index_unreduced, index_add: rows selected by integer ids.
#include <algorithm>

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
  const Dtype dtype = body.type(read->operands[0]).dtype;
  auto op = elaborated(body, site, *read,
                       site.name == "index" ? ir::Op(ir::Index{std::move(read->pattern)})
                                            : ir::Op(ir::IndexUnreduced{std::move(read->pattern)}));
  if (!are_ids(body, site, read->operands[1], 1) || !op) return recovered(body, site, dtype);
  return {tensor(body.emit(std::move(*op), read->operands, dtype, site.range, read->ranges))};
}

/// `index_add("A, B -> [C] B", ids, x)`: x is the same for each id, so it is expanded to "A B".
void repeat_along_ids(Body& body, const CallSite& site, Read& read) {
  ir::Pattern& pattern = read.pattern;
  if (pattern.inferred) return;
  const ir::Program& program = body.world.program;
  const elaborate::Factors own = elaborate::factors(program, pattern.left[1]);
  Shape wider;
  for (const Split& split : pattern.left[0].dims) {
    const elaborate::Factors ids = elaborate::factors(program, split.dim);
    const auto known = [&](const auto& each) { return std::count(own.begin(), own.end(), each); };
    if (std::none_of(ids.begin(), ids.end(), known)) wider.dims.push_back(split);
  }
  if (wider.dims.empty()) return;
  const Shape& x = pattern.left[1];
  wider.dims.insert(wider.dims.end(), x.dims.begin(), x.dims.end());
  wider.marks = x.marks;
  ir::Expand expand;
  expand.pattern.left = {x};
  expand.pattern.right = wider;
  Read repeated;
  repeated.operands = {read.operands[1]};
  auto op = elaborated(body, site, repeated, std::move(expand));
  if (!op) return;
  const Dtype dtype = body.type(read.operands[1]).dtype;
  read.operands[1] =
      body.emit(std::move(*op), {read.operands[1]}, wider, dtype, site.range, {read.ranges[1]});
  pattern.left[1] = wider;
  read.regrouped = false;
}

std::vector<Values> index_add(Body& body, const CallSite& site) {
  if (!expect(body, site, 2, 2)) return recovered(body, site);
  auto read = read_pattern(body, site, 2, Right::required, "right");
  if (!read) return recovered(body, site);
  repeat_along_ids(body, site, *read);
  const Dtype dtype = body.type(read->operands[1]).dtype;
  auto op = elaborated(body, site, *read, ir::IndexAdd{std::move(read->pattern)});
  bool good = op.has_value();
  if (!is_float(dtype) && !is_integer(dtype)) {
    body.error("E0104", site.range, std::string("`index_add` of ") + to_string(dtype));
    good = false;
  }
  if (!are_ids(body, site, read->operands[0], 0) || !good) return recovered(body, site, dtype);
  return {tensor(body.emit(std::move(*op), read->operands, dtype, site.range, read->ranges))};
}

}  // namespace

void add_indexing(Handlers& table) {
  table["index"] = table["index_unreduced"] = index;
  table["index_add"] = index_add;
}

}  // namespace shardproof::resolution
