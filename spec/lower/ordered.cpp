// Ops that depend on order along a dim: cumsum is a sum under a threshold; the others are
// uninterpreted functions of the row.
#include "spec/algebra/engine.h"
#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

/// An integer in [0, |dim|).
algebra::LeafFacts position_in(Context& c, const Vars& dim) {
  algebra::LeafFacts facts;
  facts.integer = true;
  facts.below = c.size(dim);
  c.a.declare_range(*facts.below);
  return facts;
}

}  // namespace

/// The lowest index of the maximum. For several digits: first the block that has the maximum, then
/// the place in that block.
Nf argmax(Context& c, Nf x, const Vars& over) {
  if (over.size() > 1) {
    const Vars places(over.begin() + 1, over.end());
    const Nf block = argmax(c, c.a.max(places, x), {over[0]});
    const Nf place = c.a.substitute(argmax(c, x, places), {{over[0], block}});
    return c.a.add(c.a.mul(block, c.size(places)), place);
  }
  return c.a.opaque("argmax", {{over, same_order(c.a, over, x)}}, {}, position_in(c, over));
}

bool is_argmax(Context& c, Nf index, Nf x, const Vars& over) {
  const algebra::Engine& g = c.a.engine();
  for (const algebra::Term& t : g.terms(index))
    for (const algebra::Factor& f : g.factors(t.mono))
      if (g.is_order(f.atom, "argmax")) return index == argmax(c, x, over);
  return false;
}

Results lower_op(Context& c, const ir::Ordered& op, const Site& site) {
  const Indices in(c, site, op.pattern);
  const Vars right = in.right(), along = in.right(op.dim);
  const Nf x = in.operand(0);
  if (op.fn == ir::OrderedFn::argsort)
    return {{right, c.a.opaque("argsort", {{along, same_order(c.a, along, x)}}, {c.join(along)},
                               position_in(c, along))}};
  Vars before, taken = right;
  for (Var var : along) {
    before.push_back(c.var("before", c.a.range(var), taken));
    taken.push_back(before.back());
  }
  const Nf earlier = c.at({along, x}, before);
  const Nf counted = c.a.le0(c.a.sub(c.join(before), c.join(along)));
  return {{right, c.a.sum(before, c.a.mul(counted, earlier))}};
}

Results lower_op(Context& c, const ir::Argmax& op, const Site& site) {
  const Indices in(c, site, op.pattern);
  const Vars right = in.right();
  return {{right, argmax(c, in.operand(0), without(in.left(0), right))}};
}

/// The first of the top k is the maximum.
Nf top_k(Context& c, Nf x, const Vars& over, Nf rank) {
  if (c.a.is_zero(rank)) return argmax(c, x, over);
  return c.a.opaque("top_k", {{over, same_order(c.a, over, x)}}, {rank}, position_in(c, over));
}

TensorExpr top_k_places(Context& c, const Indices& in) {
  const Vars right = in.right(), over = without(in.left(0), right);
  const Vars ranks = without(right, in.left(0));
  const Nf rank = c.join(ranks), x = in.operand(0);
  const auto merged = top_k_of_blocks(c, x, over, rank, c.size(ranks));
  return {right, merged ? *merged : top_k(c, x, over, rank)};
}

/// The values are the entries at the indices.
Results lower_op(Context& c, const ir::TopK& op, const Site& site) {
  const Indices in(c, site, op.pattern);
  const Vars over = without(in.left(0), in.right());
  const Nf x = in.operand(0);
  const TensorExpr where = top_k_places(c, in);
  if (is_argmax(c, where.body, x, over)) return {{where.index, c.a.max(over, x)}, where};
  return {{where.index, c.at({over, x}, c.split(where.body, over))}, where};
}

}  // namespace shardproof::lower
