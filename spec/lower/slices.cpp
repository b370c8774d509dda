// Slices of a dim: read, write, concat, roll, rev, one entry.
#include <algorithm>

#include "spec/lower/context.h"

namespace shardproof::lower {

Nf inside_piece(Context& c, const Vars& marked, Nf start, const Vars& piece) {
  const Nf offset = c.a.sub(c.join(marked), start);
  return piece.empty() ? c.a.eq0(offset) : c.a.in_range(offset, c.size(piece));
}

Nf block_of(Context& c, const ir::Pattern& pattern, const Vars& marked) {
  const Split& split = pattern.left.at(0).dims.at(pattern.left_bracket.value());
  const Nf block = c.a.div(c.size(marked), c.axis(split.axes.at(0)));
  c.a.declare_range(block);
  return block;
}

std::vector<Nf> mirrored(Context& c, const Vars& marked) {
  std::vector<Nf> places;
  for (const Var& index : marked)
    places.push_back(c.a.sub(c.a.sub(c.size({index}), c.a.number(1)), c.join({index})));
  return places;
}

/// The position whose dim the entry names.
size_t entry_position(const ir::Entry& op, const Type& type) {
  for (size_t i = 0; i < type.dims.size(); ++i)
    if (type.dims[i].dim == op.dim) return i;
  throw std::logic_error("an entry of a position that is not there");
}

namespace {

/// Assumes 0 <= start and start + length <= whole, unless they are known or stated.
void assume_inside(Context& c, const Site& site, size_t operand, Nf start, Nf length, Nf whole) {
  const ir::ValueId at = site.instr.operands.at(operand);
  const bool low = c.bounded(site, at, ">=", c.a.number(0));
  const bool high = c.bounded(site, at, "<=", c.a.sub(whole, length));
  if (low && high) return;
  const Name name =
      site.frame.top ? site.frame.function.values.at(site.instr.operands.at(operand)).name : "";
  const std::string text = name.empty() ? c.a.show(start) : name;
  const Nf end = c.a.add(start, length);
  const std::string last = c.a.as_number(start) ? c.a.show(end) : text + " + " + c.a.show(length);
  const std::string from = "0 <= " + text, to = last + " <= " + c.a.show(whole);
  const Nf zero = c.a.number(0);
  if (c.a.le0(c.a.neg(start)) == zero) c.never(from);
  if (c.a.le0(c.a.sub(end, whole)) == zero) c.never(to);
  if (!low) c.assume(from, zero, "<=", start);
  if (!high) c.assume(to, end, "<=", whole);
}

void assume_equal(Context& c, Nf one, Nf other) {
  const Nf differ = c.a.sub(one, other);
  if (c.a.is_zero(differ)) return;
  const std::string text = c.a.show(one) + " == " + c.a.show(other);
  if (c.a.known_positive(differ) || c.a.known_positive(c.a.neg(differ))) c.never(text);
  c.assume(text, one, "==", other);
}

/// Entry i of the result is entry (i - by) mod |L|.
Results rolled(Context& c, const Indices& in, const TensorExpr& x, const Vars& marked, Nf by) {
  const Nf from = c.a.mod(c.a.sub(c.join(marked), by), c.size(marked));
  const std::vector<Nf> places = c.split(c.as_index(from), marked);
  return {{in.right(), c.at(x, in.left(0), marked, places)}};
}

}  // namespace

Results lower_op(Context& c, const ir::Read& op, const Site& site) {
  const Indices in(c, site, op.pattern);
  const Vars all = in.left(0), marked = in.left(0, op.pattern.left_bracket.value());
  const Vars right = in.right(), fresh = without(right, all);
  const Nf start = c.as_index(site.operand(1).body);
  assume_inside(c, site, 1, start, c.size(fresh), c.size(marked));
  const Nf from = c.a.add(start, c.join(fresh));
  return {{right, c.at(site.operand(0), all, marked, c.split(from, marked))}};
}

Results lower_op(Context& c, const ir::Write& op, const Site& site) {
  const Indices in(c, site, op.pattern);
  const Vars right = in.right(), marked = in.right(op.pattern.left_bracket.value());
  const Vars part = in.left(1), piece = without(part, right);
  const Nf start = c.as_index(site.operand(2).body), length = c.size(piece);
  assume_inside(c, site, 2, start, length, c.size(marked));
  const Nf offset = c.a.sub(c.join(marked), start);
  const Nf inside = inside_piece(c, marked, start, piece);
  const Nf y = c.at(site.operand(1), part, piece, c.split(offset, piece));
  return {{right, c.a.where(inside, y, in.operand(0))}};
}

/// The last operand needs no condition: the index is below the total size, that of the parts.
Results lower_op(Context& c, const ir::Concat& op, const Site& site) {
  const Indices in(c, site, op.pattern);
  const Vars right = in.right(), marked = in.right(op.pattern.right_bracket.value());
  const Nf i = c.join(marked), one = c.a.number(1);
  std::vector<Nf> begin = {c.a.number(0)}, piece;
  for (size_t k = 0; k < site.instr.operands.size(); ++k) {
    const Vars all = in.left(k), own = without(all, right);
    const std::vector<Nf> inside = c.split(c.a.sub(i, begin[k]), own);
    piece.push_back(c.at(site.operand(k), all, own, inside));
    begin.push_back(c.a.add(begin[k], c.size(own)));
  }
  assume_equal(c, begin.back(), c.size(marked));
  Nf body = piece.back();
  for (size_t k = piece.size() - 1; k-- > 0;)
    body = c.a.where(c.a.le0(c.a.add(c.a.sub(i, begin[k + 1]), one)), piece[k], body);
  return {{right, body}};
}

Results lower_op(Context& c, const ir::Roll& op, const Site& site) {
  const Indices in(c, site, op.pattern);
  const Vars marked = in.right(op.pattern.right_bracket.value());
  return rolled(c, in, site.operand(0), marked, c.as_index(site.operand(1).body));
}

/// Entry i of the result is entry |L| - 1 - i.
Results lower_op(Context& c, const ir::Rev& op, const Site& site) {
  const Indices in(c, site, op.pattern);
  const Vars marked = in.right(op.pattern.right_bracket.value());
  return {{in.right(), c.at(site.operand(0), in.left(0), marked, mirrored(c, marked))}};
}

/// Moves blocks of the first axis c of L by k places: a roll by k |L| / |c|.
Results lower_op(Context& c, const ir::Ppermute& op, const Site& site) {
  const Indices in(c, site, op.pattern);
  const Vars marked = in.right(op.pattern.right_bracket.value());
  const Nf block = block_of(c, op.pattern, marked);
  return rolled(c, in, site.operand(0), marked, c.a.mul(c.as_index(site.operand(1).body), block));
}

namespace {

/// x[n]; in `ring b over L/c as W`, x[b] is block b with |W| entries, and `next` skips W.
Nf entry_of(Context& c, const Site& site, size_t at, size_t* next) {
  const Nf number = c.as_index(site.operand(1).body);
  const std::vector<Split>& dims = site.result(0).type.dims;
  if (dims.size() < site.type(0).dims.size()) return number;
  const Vars block = c.positions(dims).at(at);
  *next += block.size();
  return c.a.add(c.a.mul(number, c.size(block)), c.join(block));
}

}  // namespace

Results lower_op(Context& c, const ir::Entry& op, const Site& site) {
  const Vars right = c.vars(site.result(0).type.dims);
  const std::vector<Vars> own = c.positions(site.type(0).dims);
  const size_t at = entry_position(op, site.type(0));
  std::vector<Nf> index;
  size_t next = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    if (i == at)
      for (Nf digit : c.split(entry_of(c, site, at, &next), own[i])) index.push_back(digit);
    else
      for (size_t k = 0; k < own[i].size(); ++k) index.push_back(c.a.var(right.at(next++)));
  }
  return {{right, c.at(site.operand(0), index)}};
}

}  // namespace shardproof::lower
