// Gradients of slices of a dim: the cotangent of an entry that was read is added at its index.
#include "spec/lower/derivative.h"

namespace shardproof::lower {

namespace {

/// Adds `g` at entry `at` of the operand's marked position, summed over the indices in `from` that
/// the operand lacks.
void scatter(Pull& p, const Vars& all, const Vars& marked, const Vars& from, Nf at, Nf g) {
  const Nf hit = p.c.a.eq0(p.c.a.sub(at, p.c.join(marked)));
  p.give_sum(0, all, from, p.c.a.mul(hit, g));
}

/// Entry i of the operand went to entry (i + by) mod |L|.
void pull_roll(Pull& p, const Indices& in, const Vars& marked, Nf by) {
  const Vars all = in.right();
  const Nf to = p.c.as_index(p.c.a.mod(p.c.a.add(p.c.join(marked), by), p.c.size(marked)));
  const TensorExpr g{all, p.gradient(all)};
  p.give(0, {all, p.c.at(g, all, marked, p.c.split(to, marked))});
}

void pull_index(Pull& p, const ir::Pattern& pattern) {
  if (!p.wants(0)) return;
  const Indices in(p.c, p.site, pattern);
  const Vars right = in.right(), marked = in.left(0, pattern.left_bracket.value());
  scatter(p, in.left(0), marked, right, p.c.as_index(in.operand(1)), p.gradient(right));
}

}  // namespace

void pull_op(Pull& p, const ir::Read& op) {
  if (!p.wants(0)) return;
  const Indices in(p.c, p.site, op.pattern);
  const Vars all = in.left(0), marked = in.left(0, op.pattern.left_bracket.value());
  const Vars right = in.right(), fresh = without(right, all);
  const Nf start = p.c.as_index(p.site.operand(1).body);
  scatter(p, all, marked, right, p.c.a.add(start, p.c.join(fresh)), p.gradient(right));
}

void pull_op(Pull& p, const ir::Write& op) {
  const Indices in(p.c, p.site, op.pattern);
  const Vars all = in.right(), marked = in.right(op.pattern.left_bracket.value());
  const Vars part = in.left(1), piece = without(part, all);
  const Nf start = p.c.as_index(p.site.operand(2).body), g = p.gradient(all);
  const Nf inside = inside_piece(p.c, marked, start, piece);
  if (p.wants(0)) p.give(0, {all, p.c.a.mul(p.c.a.sub(p.c.a.number(1), inside), g)});
  const Nf at = p.c.a.add(start, p.c.join(piece));
  if (p.wants(1)) p.give(1, {part, p.c.at({all, g}, all, marked, p.c.split(at, marked))});
}

/// Entry i of a cumsum contains every entry up to i.
void pull_op(Pull& p, const ir::Ordered& op) {
  if (op.fn != ir::OrderedFn::cumsum || !p.wants(0)) return;
  const Indices in(p.c, p.site, op.pattern);
  const Vars right = in.right(), along = in.right(op.dim);
  const Nf g = p.gradient(right);
  Vars later, taken = right;
  for (Var var : along) {
    later.push_back(p.c.var("later", p.c.a.range(var), taken));
    taken.push_back(later.back());
  }
  const Nf counted = p.c.a.le0(p.c.a.sub(p.c.join(along), p.c.join(later)));
  p.give(0, {right, p.c.a.sum(later, p.c.a.mul(counted, p.c.at({along, g}, p.c.terms(later))))});
}

void pull_op(Pull& p, const ir::Concat& op) {
  const Indices in(p.c, p.site, op.pattern);
  const Vars right = in.right(), marked = in.right(op.pattern.right_bracket.value());
  const TensorExpr g{right, p.gradient(right)};
  Nf begin = p.c.a.number(0);
  for (size_t k = 0; k < p.site.instr.operands.size(); ++k) {
    const Vars all = in.left(k), own = without(all, right);
    const std::vector<Nf> at = p.c.split(p.c.a.add(begin, p.c.join(own)), marked);
    if (p.wants(k)) p.give(k, {all, p.c.at(g, right, marked, at)});
    begin = p.c.a.add(begin, p.c.size(own));
  }
}

void pull_op(Pull& p, const ir::Roll& op) {
  if (!p.wants(0)) return;
  const Indices in(p.c, p.site, op.pattern);
  const Vars marked = in.right(op.pattern.right_bracket.value());
  pull_roll(p, in, marked, p.c.as_index(p.site.operand(1).body));
}

void pull_op(Pull& p, const ir::Rev& op) {
  if (!p.wants(0)) return;
  const Indices in(p.c, p.site, op.pattern);
  const Vars all = in.right(), marked = in.right(op.pattern.right_bracket.value());
  const TensorExpr g{all, p.gradient(all)};
  p.give(0, {all, p.c.at(g, all, marked, mirrored(p.c, marked))});
}

void pull_op(Pull& p, const ir::Ppermute& op) {
  if (!p.wants(0)) return;
  const Indices in(p.c, p.site, op.pattern);
  const Vars marked = in.right(op.pattern.right_bracket.value());
  const Nf block = block_of(p.c, op.pattern, marked);
  pull_roll(p, in, marked, p.c.a.mul(p.c.as_index(p.site.operand(1).body), block));
}

void pull_op(Pull& p, const ir::Entry& op) {
  if (!p.wants(0)) return;
  std::vector<Vars> own = p.c.positions(p.site.type(0).dims);
  const Vars all = flat(own);
  const size_t at = entry_position(op, p.site.type(0));
  const Vars marked = own.at(at);
  own.at(at).clear();
  const Vars rest = flat(own);
  scatter(p, all, marked, rest, p.c.as_index(p.site.operand(1).body), p.gradient(rest));
}

void pull_op(Pull& p, const ir::Index& op) { pull_index(p, op.pattern); }
void pull_op(Pull& p, const ir::IndexUnreduced& op) { pull_index(p, op.pattern); }

/// The cotangent of an added entry is read at its row; 0 if the row is out of range.
void pull_op(Pull& p, const ir::IndexAdd& op) {
  if (!p.wants(1)) return;
  const Indices in(p.c, p.site, op.pattern);
  const Vars right = in.right(), marked = in.right(op.pattern.right_bracket.value());
  const Nf hit = p.c.a.eq0(p.c.a.sub(p.c.as_index(in.operand(0)), p.c.join(marked)));
  p.give_sum(1, in.left(1), right, p.c.a.mul(hit, p.gradient(right)));
}

/// The values are the entries at the indices.
void pull_op(Pull& p, const ir::TopK& op) {
  if (!p.wants(0) || !p.all.arrived(p.site.instr.results[0])) return;
  const Indices in(p.c, p.site, op.pattern);
  const Vars all = in.left(0), right = in.right();
  scatter(p, all, without(all, right), right, top_k_places(p.c, in).body, p.gradient(right));
}

}  // namespace shardproof::lower
