// Along a dim in order: cumsum is a sum under a threshold, the others are uninterpreted functions
// of the row.
#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

/// An integer in [0, |dim|).
algebra::LeafFacts position_in(Context& c, const Slots& dim) {
  algebra::LeafFacts facts;
  facts.integer = true;
  facts.below = c.size(dim);
  c.a.declare_range(*facts.below);
  return facts;
}

Slots primed(Slots slots) {
  for (Slot& slot : slots) slot.key += "'";
  return slots;
}

}  // namespace

Nf argmax(Context& c, Nf x, const Slots& over) {
  return c.a.opaque("argmax", {{c.vars(over), x}}, {}, position_in(c, over));
}

Results lower_op(Context& c, const ir::Ordered& op, const Site& site) {
  const Slots all = c.slots(op.pattern.left.at(0).dims),
              along = c.slots(op.pattern.left[0].dims.at(op.dim).dim);
  const Slots right = c.slots(op.pattern.right.dims);
  const Nf x = c.at(site.operand(0), all);
  if (op.fn == ir::OrderedFn::argsort)
    return {c.tensor(
        right, c.a.opaque("argsort", {{c.vars(along), x}}, c.terms(along), position_in(c, along)))};
  const Slots before = primed(along);
  const Nf earlier = c.at({c.vars(along), x}, before);
  const Nf counted = c.a.le0(c.a.sub(c.join(before), c.join(along)));
  return {c.tensor(right, c.a.sum(c.vars(before), c.a.mul(counted, earlier)))};
}

Results lower_op(Context& c, const ir::Argmax& op, const Site& site) {
  const Slots all = c.slots(op.pattern.left.at(0).dims), right = c.slots(op.pattern.right.dims);
  const Slots over = without(all, right);
  const Nf x = c.at(site.operand(0), all);
  return {c.tensor(right, argmax(c, x, over))};
}

Tensor top_k_places(Context& c, const ir::TopK& op, const Site& site) {
  const Slots all = c.slots(op.pattern.left.at(0).dims), right = c.slots(op.pattern.right.dims);
  const Slots over = without(all, right), rank = without(right, all);
  const Nf x = c.at(site.operand(0), all);
  return c.tensor(right,
                  c.a.opaque("top_k", {{c.vars(over), x}}, {c.join(rank)}, position_in(c, over)));
}

/// The values are the entries at the indices.
Results lower_op(Context& c, const ir::TopK& op, const Site& site) {
  const Slots all = c.slots(op.pattern.left.at(0).dims), right = c.slots(op.pattern.right.dims);
  const Slots over = without(all, right);
  const Tensor where = top_k_places(c, op, site);
  const Nf x = c.at(site.operand(0), all);
  const Nf value = c.at({c.vars(over), x}, c.split(where.body, over));
  return {c.tensor(right, value), where};
}

}  // namespace shardproof::lower
