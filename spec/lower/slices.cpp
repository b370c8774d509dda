// Parts of a dim: read, write, concat, roll, one entry.
#include "spec/lower/context.h"

namespace shardproof::lower {

Slots bracket(const Context& c, const Shape& shape, std::optional<size_t> position) {
  return c.slots(shape.dims.at(position.value()).dim);
}

Nf at_bracket(Context& c, const Tensor& x, const Slots& all, const Slots& marked,
              const std::vector<Nf>& terms) {
  std::vector<Nf> index;
  for (const Slot& slot : all) {
    size_t k = 0;
    while (k < marked.size() && marked[k].key != slot.key) ++k;
    index.push_back(k < marked.size() ? terms.at(k) : c.a.var(c.var(slot)));
  }
  return c.at(x, index);
}

Nf inside_piece(Context& c, const Slots& marked, Nf start, const Slots& piece) {
  const Nf offset = c.a.sub(c.join(marked), start);
  return piece.empty() ? c.a.eq0(offset) : c.a.in_range(offset, c.size(piece));
}

Nf block_of(Context& c, const ir::Pattern& pattern) {
  const Split& split = pattern.left.at(0).dims.at(pattern.left_bracket.value());
  const Nf block = c.a.div(c.size(split.dim), c.axis(split.axes.at(0)));
  c.a.declare_range(block);
  return block;
}

namespace {

bool holds(Context& c, Nf condition) { return condition == c.a.number(1); }

/// Notes 0 <= start and start + length <= whole, unless they are known.
void assume_inside(Context& c, const Site& site, size_t operand, Nf start, Nf length, Nf whole) {
  const bool low = holds(c, c.a.le0(c.a.neg(start)));
  const bool high = holds(c, c.a.le0(c.a.sub(c.a.add(start, length), whole)));
  if (low && high) return;
  const Name name =
      site.frame.top ? site.frame.function.values.at(site.instr.operands.at(operand)).name : "";
  const std::string text = name.empty() ? c.a.show(start) : name;
  const std::string from = "0 <= " + text,
                    to = text + " + " + c.a.show(length) + " <= " + c.a.show(whole);
  const Nf zero = c.a.number(0);
  if (c.a.le0(c.a.neg(start)) == zero) c.never(from);
  if (c.a.le0(c.a.sub(c.a.add(start, length), whole)) == zero) c.never(to);
  if (!low) c.assume(from), c.assume_of_sizes(zero, "<=", start);
  if (!high) c.assume(to), c.assume_of_sizes(c.a.add(start, length), "<=", whole);
}

/// Entry i of the result is entry (i - by) mod |L|.
Results rolled(Context& c, const Site& site, const ir::Pattern& pattern, Nf by) {
  const Slots all = c.slots(pattern.left.at(0).dims),
              marked = bracket(c, pattern.left[0], pattern.left_bracket);
  const Nf from = c.a.mod(c.a.sub(c.join(marked), by), c.size(marked));
  const Nf body = at_bracket(c, site.operand(0), all, marked, c.split(c.as_index(from), marked));
  return {c.tensor(c.slots(pattern.right.dims), body)};
}

}  // namespace

Results lower_op(Context& c, const ir::Read& op, const Site& site) {
  const ir::Pattern& p = op.pattern;
  const Slots all = c.slots(p.left.at(0).dims), marked = bracket(c, p.left[0], p.left_bracket);
  const Slots right = c.slots(p.right.dims), fresh = without(right, without(all, marked));
  const Nf start = c.as_index(site.operand(1).body);
  assume_inside(c, site, 1, start, c.size(fresh), c.size(marked));
  const Nf from = c.a.add(start, c.join(fresh));
  return {c.tensor(right, at_bracket(c, site.operand(0), all, marked, c.split(from, marked)))};
}

Results lower_op(Context& c, const ir::Write& op, const Site& site) {
  const ir::Pattern& p = op.pattern;
  const Slots all = c.slots(p.left.at(0).dims), marked = bracket(c, p.left[0], p.left_bracket);
  const Slots part = c.slots(p.left.at(1).dims), piece = without(part, without(all, marked));
  const Nf start = c.as_index(site.operand(2).body), length = c.size(piece);
  assume_inside(c, site, 2, start, length, c.size(marked));
  const Nf offset = c.a.sub(c.join(marked), start);
  const Nf inside = inside_piece(c, marked, start, piece);
  const Nf y = at_bracket(c, site.operand(1), part, piece, c.split(offset, piece));
  return {c.tensor(all, c.a.where(inside, y, c.at(site.operand(0), all)))};
}

/// The last piece needs no condition: the index is below the whole size.
Results lower_op(Context& c, const ir::Concat& op, const Site& site) {
  const ir::Pattern& p = op.pattern;
  const Slots right = c.slots(p.right.dims), marked = bracket(c, p.right, p.right_bracket);
  const Slots others = without(right, marked);
  const Nf i = c.join(marked), one = c.a.number(1);
  std::vector<Nf> begin = {c.a.number(0)}, piece;
  for (size_t k = 0; k < p.left.size(); ++k) {
    const Slots all = c.slots(p.left[k].dims), own = without(all, others);
    const std::vector<Nf> inside = c.split(c.a.sub(i, begin[k]), own);
    piece.push_back(at_bracket(c, site.operand(k), all, own, inside));
    begin.push_back(c.a.add(begin[k], c.size(own)));
  }
  Nf body = piece.back();
  for (size_t k = piece.size() - 1; k-- > 0;)
    body = c.a.where(c.a.le0(c.a.add(c.a.sub(i, begin[k + 1]), one)), piece[k], body);
  return {c.tensor(right, body)};
}

Results lower_op(Context& c, const ir::Roll& op, const Site& site) {
  return rolled(c, site, op.pattern, c.as_index(site.operand(1).body));
}

/// Blocks of the first axis c of L, k places on: a roll by k |L| / |c|.
Results lower_op(Context& c, const ir::Ppermute& op, const Site& site) {
  return rolled(c, site, op.pattern,
                c.a.mul(c.as_index(site.operand(1).body), block_of(c, op.pattern)));
}

Results lower_op(Context& c, const ir::Entry& op, const Site& site) {
  const Slots all = c.slots(site.type(0).dims), marked = c.slots(op.dim);
  const std::vector<Nf> digits = c.split(c.as_index(site.operand(1).body), marked);
  return {c.tensor(c.slots(site.result(0).type.dims),
                   at_bracket(c, site.operand(0), all, marked, digits))};
}

}  // namespace shardproof::lower
