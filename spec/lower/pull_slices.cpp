// Parts of a dim: what was read at a place is added at that place.
#include "spec/lower/derivative.h"

namespace shardproof::lower {

namespace {

Slots marked_left(const Pull& p, const ir::Pattern& pattern) {
  return bracket(p.c, pattern.left.at(0), pattern.left_bracket);
}

/// Adds `g` to entry `at` of the operand's bracketed dim; the dims of `from` that the operand lacks
/// are summed.
void scatter(Pull& p, const Slots& all, const Slots& marked, const Slots& from, Nf at, Nf g) {
  const Nf hit = p.c.a.eq0(p.c.a.sub(at, p.c.join(marked)));
  p.give_sum(0, all, from, p.c.a.mul(hit, g));
}

/// Entry i of the operand went to entry (i + by) mod |L|.
void pull_roll(Pull& p, const ir::Pattern& pattern, Nf by) {
  if (!p.wants(0)) return;
  const Slots left = p.c.slots(pattern.left.at(0).dims), marked = marked_left(p, pattern);
  const Nf to = p.c.as_index(p.c.a.mod(p.c.a.add(p.c.join(marked), by), p.c.size(marked)));
  const Tensor g{p.c.vars(left), p.gradient(left)};
  p.give(0, left, at_bracket(p.c, g, left, marked, p.c.split(to, marked)));
}

void pull_index(Pull& p, const ir::Pattern& pattern) {
  if (!p.wants(0)) return;
  const Slots right = p.c.slots(pattern.right.dims);
  const Nf ids = p.c.at(p.site.operand(1), p.c.slots(pattern.left.at(1).dims));
  scatter(p, p.c.slots(pattern.left[0].dims), marked_left(p, pattern), right, p.c.as_index(ids),
          p.gradient(right));
}

}  // namespace

void pull_op(Pull& p, const ir::Read& op) {
  if (!p.wants(0)) return;
  const Slots all = p.c.slots(op.pattern.left.at(0).dims), marked = marked_left(p, op.pattern);
  const Slots right = p.c.slots(op.pattern.right.dims);
  const Slots fresh = without(right, without(all, marked));
  const Nf start = p.c.as_index(p.site.operand(1).body);
  scatter(p, all, marked, right, p.c.a.add(start, p.c.join(fresh)), p.gradient(right));
}

void pull_op(Pull& p, const ir::Write& op) {
  const Slots all = p.c.slots(op.pattern.left.at(0).dims), marked = marked_left(p, op.pattern);
  const Slots part = p.c.slots(op.pattern.left.at(1).dims);
  const Slots piece = without(part, without(all, marked));
  const Nf start = p.c.as_index(p.site.operand(2).body), g = p.gradient(all);
  const Nf inside = inside_piece(p.c, marked, start, piece);
  if (p.wants(0)) p.give(0, all, p.c.a.mul(p.c.a.sub(p.c.a.number(1), inside), g));
  const Nf at = p.c.a.add(start, p.c.join(piece));
  if (p.wants(1))
    p.give(1, part, at_bracket(p.c, {p.c.vars(all), g}, all, marked, p.c.split(at, marked)));
}

void pull_op(Pull& p, const ir::Concat& op) {
  const Slots right = p.c.slots(op.pattern.right.dims);
  const Slots marked = bracket(p.c, op.pattern.right, op.pattern.right_bracket);
  const Tensor g{p.c.vars(right), p.gradient(right)};
  Nf begin = p.c.a.number(0);
  for (size_t k = 0; k < op.pattern.left.size(); ++k) {
    const Slots all = p.c.slots(op.pattern.left[k].dims);
    const Slots own = without(all, without(right, marked));
    const std::vector<Nf> at = p.c.split(p.c.a.add(begin, p.c.join(own)), marked);
    if (p.wants(k)) p.give(k, all, at_bracket(p.c, g, right, marked, at));
    begin = p.c.a.add(begin, p.c.size(own));
  }
}

void pull_op(Pull& p, const ir::Roll& op) {
  pull_roll(p, op.pattern, p.c.as_index(p.site.operand(1).body));
}

void pull_op(Pull& p, const ir::Ppermute& op) {
  pull_roll(p, op.pattern,
            p.c.a.mul(p.c.as_index(p.site.operand(1).body), block_of(p.c, op.pattern)));
}

void pull_op(Pull& p, const ir::Entry& op) {
  if (!p.wants(0)) return;
  const Slots all = p.c.slots(p.site.type(0).dims), right = p.result_slots();
  scatter(p, all, p.c.slots(op.dim), right, p.c.as_index(p.site.operand(1).body),
          p.gradient(right));
}

void pull_op(Pull& p, const ir::Index& op) { pull_index(p, op.pattern); }
void pull_op(Pull& p, const ir::IndexUnreduced& op) { pull_index(p, op.pattern); }

/// What was added to row ids comes from there; outside of the rows nothing was.
void pull_op(Pull& p, const ir::IndexAdd& op) {
  if (!p.wants(1)) return;
  const Slots x = p.c.slots(op.pattern.left.at(1).dims), right = p.c.slots(op.pattern.right.dims);
  const Slots marked = bracket(p.c, op.pattern.right, op.pattern.right_bracket);
  const Nf ids = p.c.as_index(p.c.at(p.site.operand(0), p.c.slots(op.pattern.left[0].dims)));
  const Nf hit = p.c.a.eq0(p.c.a.sub(ids, p.c.join(marked)));
  p.give_sum(1, x, right, p.c.a.mul(hit, p.gradient(right)));
}

/// The values are the entries at the indices.
void pull_op(Pull& p, const ir::TopK& op) {
  if (!p.wants(0) || !p.all.arrived(p.site.instr.results[0])) return;
  const Slots all = p.c.slots(op.pattern.left.at(0).dims), right = p.c.slots(op.pattern.right.dims);
  const Nf where = p.c.at(top_k_places(p.c, op, p.site), right);
  scatter(p, all, without(all, right), right, where, p.gradient(right));
}

}  // namespace shardproof::lower
