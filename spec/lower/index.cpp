// index (rows of a table by integer) and its adjoint, index_add.
#include <algorithm>

#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

/// The id is out of range at the first or the last index, whatever the sizes.
bool leaves_somewhere(Context& c, Nf ids, Nf size) {
  const Nf zero = c.a.number(0), one = c.a.number(1);
  const auto leaves = [&](Nf id) {
    return c.a.le0(c.a.neg(id)) == zero || c.a.le0(c.a.add(c.a.sub(id, size), one)) == zero;
  };
  const std::array<Nf, 2> ends = c.at_ends(ids);
  return std::any_of(ends.begin(), ends.end(), leaves);
}

/// The id as a term, which plan and model print alike; its source text if the term is long.
std::string shown(Context& c, const Site& site, Nf ids) {
  const ir::Function& f = site.frame.function;
  const ir::ValueId value = site.instr.operands.at(1);
  const Name name = site.frame.top ? f.values.at(value).name : "";
  const bool param = std::find(f.params.begin(), f.params.end(), value) != f.params.end();
  if (param && !name.empty()) return name;
  const std::string term = c.a.show(ids);
  return name.empty() || term.size() <= 40 ? term : name;
}

void assume_in_range(Context& c, const Site& site, Nf ids, const Vars& marked, const Dim& dim) {
  const Nf one = c.a.number(1);
  const ir::ValueId value = site.instr.operands.at(1);
  const bool low = c.bounded(site, value, ">=", c.a.number(0));
  const bool high = c.bounded(site, value, "<=", c.a.sub(c.size(marked), one));
  if (low && high) return;
  const std::string text = "0 <= " + shown(c, site, ids) + " < |" + to_string(dim) + "|";
  if (leaves_somewhere(c, ids, c.size(marked))) c.never(text);
  c.assume(text, c.a.number(0), "<=", ids);
  c.assume(text, ids, "<", c.size(marked));
}

Results indexed(Context& c, const Site& site, const ir::Pattern& p) {
  const Indices in(c, site, p);
  const size_t at = p.left_bracket.value();
  const Vars marked = in.left(0, at);
  const Nf ids = c.as_index(in.operand(1));
  assume_in_range(c, site, ids, marked, p.left.at(0).dims.at(at).dim);
  const Nf row = in.operand(0);
  if (is_argmax(c, ids, row, marked)) return {{in.right(), c.a.max(marked, row)}};
  return {{in.right(), c.at(site.operand(0), in.left(0), marked, c.split(ids, marked))}};
}

}  // namespace

Results lower_op(Context& c, const ir::Index& op, const Site& site) {
  return indexed(c, site, op.pattern);
}
Results lower_op(Context& c, const ir::IndexUnreduced& op, const Site& site) {
  return indexed(c, site, op.pattern);
}

/// Sum over the entries of [ids = v] x.
Results lower_op(Context& c, const ir::IndexAdd& op, const Site& site) {
  const Indices in(c, site, op.pattern);
  const Vars right = in.right(), marked = in.right(op.pattern.right_bracket.value());
  const Nf hit = c.a.eq0(c.a.sub(c.as_index(in.operand(0)), c.join(marked)));
  return {{right, c.a.sum(without(in.all(), right), c.a.mul(hit, in.operand(1)))}};
}

}  // namespace shardproof::lower
