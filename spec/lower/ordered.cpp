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

Nf argmax(Context& c, Nf x, const Vars& over) {
  return c.a.opaque("argmax", {{over, same_order(c.a, over, x)}}, {}, position_in(c, over));
}

bool is_argmax(Context& c, Nf x) {
  const algebra::Engine& g = c.a.engine();
  const auto only = g.single_atom(x);
  return only && g.is_op(*only, algebra::Op::symbol) &&
         g.tensors[g.atoms[*only].ref].name == "argmax";
}

Results lower_op(Context& c, const ir::Ordered& op, const Site& site) {
  const Indices in(c, site, op.pattern);
  const Vars right = in.right(), along = in.right(op.dim);
  const Nf x = in.operand(0);
  if (op.fn == ir::OrderedFn::argsort)
    return {{right, c.a.opaque("argsort", {{along, same_order(c.a, along, x)}}, c.terms(along),
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
TensorExpr top_k_places(Context& c, const Indices& in) {
  const Vars all = in.left(0), right = in.right();
  const Vars over = without(all, right), rank = without(right, all);
  if (c.a.is_zero(c.join(rank))) return {right, argmax(c, in.operand(0), over)};
  return {right, c.a.opaque("top_k", {{over, same_order(c.a, over, in.operand(0))}}, {c.join(rank)},
                            position_in(c, over))};
}

/// The values are the entries at the indices.
Results lower_op(Context& c, const ir::TopK& op, const Site& site) {
  const Indices in(c, site, op.pattern);
  const Vars right = in.right(), over = without(in.left(0), right);
  const TensorExpr where = top_k_places(c, in);
  if (c.a.is_zero(c.join(without(right, in.left(0)))))
    return {{right, c.a.max(over, in.operand(0))}, where};
  return {{right, c.at({over, in.operand(0)}, c.split(where.body, over))}, where};
}

}  // namespace shardproof::lower
